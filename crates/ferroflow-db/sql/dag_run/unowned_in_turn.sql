-- Begins after a row and goes round. Not by `id > ?` alone: to find those few in the order of rows, a database might
-- read all that ever ran.
SELECT dag_run.id, dag_run.dag_id, dag_run.run_id
FROM dag_run
JOIN dag ON dag.dag_id = dag_run.dag_id
LEFT JOIN job ON job.id = dag_run.scheduled_by_job_id
WHERE dag_run.state = 'running' AND dag_run.run_after <= ? AND dag.is_paused = ? AND dag.is_stale = ?
    AND (
        job.id IS NULL OR job.state <> 'running' OR job.executor_class IS NULL OR job.executor_class <> ?
        OR job.latest_heartbeat < ?
    )
ORDER BY CASE WHEN dag_run.id > ? THEN 0 ELSE 1 END, dag_run.id
LIMIT ?
