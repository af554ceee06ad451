INSERT INTO backfill_dag_run (backfill_id, dag_run_id, exception_reason, logical_date, partition_key, sort_ordinal)
VALUES
    {rows:6}
