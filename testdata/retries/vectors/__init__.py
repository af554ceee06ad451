"""What record_retries.py asks Airflow."""
