UPDATE connection_test_request SET state = 'queued', updated_at = ? WHERE id = ? AND state = 'pending'
