SELECT {columns:job}
FROM job
WHERE state = 'running' AND job_type = COALESCE(?, job_type) AND hostname = COALESCE(?, hostname)
ORDER BY latest_heartbeat DESC
LIMIT ?
