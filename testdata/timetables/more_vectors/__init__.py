"""What record_more_vectors.py asks Airflow: random, but the same for the same seed."""
