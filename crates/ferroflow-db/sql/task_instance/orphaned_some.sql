SELECT
    ti.id, ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.state, ti.try_number, ti.hostname, ti.pid, ti.executor,
    ti.external_executor_id, ti.start_date, ti.last_heartbeat_at,
    ti.queued_by_job_id, dr.state AS run_state, j.id AS job_id,
    CASE WHEN j.job_type IN ('SchedulerJob', 'DagTestJob') THEN j.state END AS job_state
FROM task_instance ti
JOIN dag_run dr ON dr.dag_id = ti.dag_id AND dr.run_id = ti.run_id
LEFT JOIN job j ON j.id = ti.queued_by_job_id
WHERE ti.id IN ({in})
