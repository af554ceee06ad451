-- Airflow keeps its revision outside the schema that [database] sql_alchemy_schema names.
SELECT CAST(tablename AS text) AS name FROM pg_catalog.pg_tables WHERE schemaname = current_schema()
UNION
SELECT 'alembic_version' WHERE to_regclass('alembic_version') IS NOT NULL
ORDER BY 1
