UPDATE connection_test_request SET state = 'running', updated_at = ? WHERE id = ? AND state IN ('pending', 'queued')
