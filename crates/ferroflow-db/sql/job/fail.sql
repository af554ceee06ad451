UPDATE job SET state = 'failed'
WHERE id = ? AND job_type IN ('SchedulerJob', 'DagTestJob') AND state = 'running'
    AND (latest_heartbeat IS NULL OR latest_heartbeat < ? OR latest_heartbeat > ?)
