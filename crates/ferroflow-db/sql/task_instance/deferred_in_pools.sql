SELECT pool, pool_slots, COUNT(*) AS instances
FROM task_instance
WHERE pool IN ({in}) AND state = 'deferred'
GROUP BY pool, pool_slots
