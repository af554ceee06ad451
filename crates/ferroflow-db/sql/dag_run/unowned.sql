-- A job that is gone has no row, or one that tells its end, or no heartbeat. Official schedulers share every run.
-- Those of the living come last: nearly always nothing happens in them, and they may be more than are asked for.
SELECT dag_run.id, dag_run.dag_id, dag_run.run_id,
    CASE WHEN job.state = 'running' AND job.executor_class = ? AND job.latest_heartbeat >= ? THEN 1 ELSE 0 END AS lives
FROM dag_run
JOIN dag ON dag.dag_id = dag_run.dag_id
LEFT JOIN job ON job.id = dag_run.scheduled_by_job_id
WHERE dag_run.state = 'running' AND dag_run.run_after <= ? AND dag.is_paused = ? AND dag.is_stale = ?
    AND (
        job.id IS NULL OR job.state <> 'running' OR job.executor_class IS NULL OR job.executor_class <> ?
        OR job.latest_heartbeat < ? OR dag_run.last_scheduling_decision IS NULL
        OR dag_run.last_scheduling_decision < ?
    )
ORDER BY lives, dag_run.last_scheduling_decision IS NOT NULL, dag_run.last_scheduling_decision, dag_run.run_after
LIMIT ?
