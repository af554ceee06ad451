UPDATE dag_run
SET last_scheduling_decision = ?, scheduled_by_job_id = ?, updated_at = ?
WHERE id IN ({in}) AND state = 'running'
