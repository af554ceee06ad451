SELECT id, dag_id, state, job_type, start_date, end_date, latest_heartbeat, executor_class, hostname, unixname
FROM job
WHERE (? OR dag_id = ?) AND (? OR state = ?)
ORDER BY start_date DESC
LIMIT ?
