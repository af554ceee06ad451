SELECT dag_id, run_id, state, COUNT(*) AS total
FROM task_instance
WHERE dag_id IN ({few}) AND run_id IN ({few})
GROUP BY dag_id, run_id, state
ORDER BY dag_id, run_id, state
