SELECT task_id, length
FROM task_map
WHERE dag_id = ? AND run_id = ? AND map_index < 0 AND (? OR task_id IN ({in}))
