UPDATE connection_test_request
SET state = ?, result_message = ?, active_connection_id = NULL, updated_at = ?
WHERE id = ? AND state IN ('pending', 'queued', 'running')
