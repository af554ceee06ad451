SELECT dag_id, run_id, state, COUNT(*) AS total
FROM task_instance
WHERE dag_id IN ({in}) AND run_id IN ({in})
GROUP BY dag_id, run_id, state
ORDER BY dag_id, run_id, state
