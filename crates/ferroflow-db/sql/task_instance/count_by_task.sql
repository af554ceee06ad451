SELECT state, dag_id, task_id, queue, COUNT(*) AS total
FROM task_instance
WHERE state IN ('scheduled', 'queued', 'running', 'deferred', 'awaiting_input')
GROUP BY state, dag_id, task_id, queue
ORDER BY state, dag_id, task_id, queue
