UPDATE backfill_dag_run SET dag_run_id = ?, exception_reason = ?
WHERE id = ? AND dag_run_id IS NULL AND exception_reason = 'unknown'
