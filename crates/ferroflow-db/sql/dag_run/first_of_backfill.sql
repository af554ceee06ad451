SELECT sort_ordinal
FROM backfill_dag_run
WHERE backfill_id = ? AND dag_run_id = ? AND sort_ordinal = 1
