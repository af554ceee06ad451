UPDATE dag_run
SET state = 'running', start_date = ?, end_date = NULL, updated_at = ?
WHERE id IN ({in}) AND state = 'queued'
