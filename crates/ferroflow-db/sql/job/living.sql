SELECT id
FROM job
WHERE job_type = ? AND state = 'running' AND executor_class = ? AND latest_heartbeat >= ?
