INSERT INTO job (state, job_type, start_date, latest_heartbeat, executor_class, hostname, unixname)
VALUES (?, ?, ?, ?, ?, ?, ?)
{returning:id}
