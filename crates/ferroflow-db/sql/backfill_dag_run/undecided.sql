SELECT id, logical_date, partition_key
FROM backfill_dag_run
WHERE backfill_id = ? AND dag_run_id IS NULL AND exception_reason = 'unknown'
ORDER BY sort_ordinal
