"""Nobody takes this for anything else than a module."""
