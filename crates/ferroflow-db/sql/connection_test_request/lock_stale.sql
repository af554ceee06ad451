SELECT id, connection_id, state
FROM connection_test_request
WHERE state IN ('pending', 'queued', 'running') AND updated_at < ?
ORDER BY created_at, id
LIMIT ? OFFSET ?
{lock_skip:connection_test_request}
