UPDATE dag
SET exceeds_max_non_backfill = (
    SELECT COUNT(*)
    FROM dag_run AS active
    WHERE active.dag_id = dag.dag_id AND active.state IN ('queued', 'running') AND active.run_type <> 'backfill'
) >= COALESCE(max_active_runs, 0)
WHERE dag_id = ?
