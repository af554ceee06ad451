"""What record_histories.py lets Airflow's scheduler decide: random, but the same for the same seed."""
