SELECT id, hostname, latest_heartbeat
FROM job
WHERE job_type IN ('SchedulerJob', 'DagTestJob') AND state = 'running'
    AND (latest_heartbeat IS NULL OR latest_heartbeat < ? OR latest_heartbeat > ?)
ORDER BY id
