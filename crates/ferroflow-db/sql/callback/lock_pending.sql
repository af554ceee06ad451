SELECT {columns:callback}
FROM callback
WHERE type = 'executor' AND state = 'pending'
ORDER BY priority_weight DESC, created_at, id
LIMIT ? OFFSET ?
{lock_skip:callback}
