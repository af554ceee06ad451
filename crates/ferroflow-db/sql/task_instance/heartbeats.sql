SELECT id, state, hostname, pid, 0 AS is_archived FROM task_instance WHERE id IN ({few})
UNION ALL
SELECT task_instance_id, NULL, NULL, NULL, 1 FROM task_instance_history WHERE task_instance_id IN ({few})
