UPDATE job SET state = 'failed'
WHERE id = ? AND job_type = 'SchedulerJob' AND state = 'running' AND latest_heartbeat < ?
