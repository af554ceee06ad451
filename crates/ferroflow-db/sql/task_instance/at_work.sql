SELECT dag_id, run_id, task_id, map_index, try_number, state, start_date
FROM task_instance {use_index:ti_state}
WHERE state IN ('queued', 'running', 'restarting')
ORDER BY dag_id, task_id, map_index
LIMIT ?
