-- The official components' lock for migrations has this name.
SELECT GET_LOCK('airflow_MIGRATIONS', 30) AS granted
