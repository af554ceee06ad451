"""What stands behind `./test`. It uses the standard library only: it runs before anything is
installed."""
