DELETE FROM backfill_dag_run WHERE id = ? AND dag_run_id IS NULL AND exception_reason = 'unknown'
