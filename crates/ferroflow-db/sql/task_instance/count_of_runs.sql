SELECT run_id, task_id, state, COUNT(*) AS total
FROM task_instance
WHERE dag_id = ? AND run_id IN ({in})
GROUP BY run_id, task_id, state
