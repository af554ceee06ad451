SELECT task_id, map_index, state, operator, duration
FROM task_instance
WHERE dag_id = ? AND run_id = ? AND state IN ('success', 'failed', 'skipped', 'upstream_failed', 'removed')
ORDER BY task_id, map_index
