SELECT pool, state, pool_slots, COUNT(*) AS total
FROM task_instance
WHERE state IN ('scheduled', 'queued', 'running', 'deferred')
GROUP BY pool, state, pool_slots
