UPDATE dag_run
SET queued_at = ?, start_date = NULL, end_date = NULL, state = ?, updated_at = ?
WHERE id = ? AND state = ?
