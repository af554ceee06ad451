SELECT dag_id, from_date, to_date, dag_run_conf, reprocess_behavior, max_active_runs, triggering_user_name
FROM backfill
WHERE id = ?
