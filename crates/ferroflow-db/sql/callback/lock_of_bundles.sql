SELECT id, data, bundle_name
FROM callback
WHERE type = 'dag_processor' AND bundle_name IN ({few})
ORDER BY priority_weight DESC, created_at, id
LIMIT ? OFFSET ?
{lock_skip:callback}
