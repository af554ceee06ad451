INSERT INTO backfill (
    dag_id, from_date, to_date, dag_run_conf, is_paused, reprocess_behavior, max_active_runs, created_at, updated_at,
    triggering_user_name
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
{returning:id}
