SELECT id, type, fetch_method, data, bundle_name, state, output, priority_weight, created_at, trigger_id
FROM callback
WHERE type = 'executor' AND state = 'pending'
ORDER BY priority_weight DESC, created_at, id
LIMIT ? OFFSET ?
{lock_skip:callback}
