SELECT id
FROM job
WHERE job_type = 'SchedulerJob' AND latest_heartbeat >= ? AND (state IS NULL OR state <> 'running')
ORDER BY id
