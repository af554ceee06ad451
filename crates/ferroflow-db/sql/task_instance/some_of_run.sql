SELECT id, task_id, map_index, state, try_number, start_date, end_date, retry_delay_override, dag_version_id
FROM task_instance
WHERE dag_id = ? AND run_id = ? AND task_id IN ({in}) AND map_index IN ({in})
