-- Grouped by the slots as well, so that nothing has to be added up: what the type of a sum is differs.
SELECT pool, pool_slots, COUNT(*) AS instances
FROM task_instance {use_index:ti_state}
WHERE state IN ('queued', 'running')
GROUP BY pool, pool_slots
