SELECT id, dag_id, state, job_type, start_date, end_date, latest_heartbeat, executor_class, hostname, unixname
FROM job
WHERE state = 'running' AND job_type = COALESCE(?, job_type) AND hostname = COALESCE(?, hostname)
ORDER BY latest_heartbeat DESC
LIMIT ?
