UPDATE dag_run
SET state = 'queued', start_date = NULL, end_date = NULL, last_scheduling_decision = NULL
WHERE id = ? AND state = ?
