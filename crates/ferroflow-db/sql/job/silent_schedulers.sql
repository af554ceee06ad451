SELECT id, hostname, latest_heartbeat
FROM job
WHERE job_type = 'SchedulerJob' AND state = 'running' AND latest_heartbeat < ?
ORDER BY id
