SELECT id, connection_id, executor, queue, team_name
FROM connection_test_request
WHERE state = 'pending'
ORDER BY created_at, id
LIMIT ? OFFSET ?
{lock_skip:connection_test_request}
