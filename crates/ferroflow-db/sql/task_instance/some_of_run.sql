SELECT {columns:task_instance_scheduling}
FROM task_instance
WHERE dag_id = ? AND run_id = ? AND task_id IN ({in}) AND map_index IN ({in})
