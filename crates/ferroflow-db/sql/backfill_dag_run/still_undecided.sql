SELECT id
FROM backfill_dag_run
WHERE id IN ({in}) AND dag_run_id IS NULL AND exception_reason = 'unknown'
