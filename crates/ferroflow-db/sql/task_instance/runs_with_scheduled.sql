SELECT
    dr.id AS dag_run_id, dr.dag_id, w.instances, w.newest, d.max_active_tasks,
    (SELECT MIN(t.team_name) FROM dag_bundle_team t WHERE t.dag_bundle_name = d.bundle_name) AS team_name
FROM (
    SELECT dag_id, run_id, COUNT(*) AS instances, MAX(scheduled_dttm) AS newest
    FROM task_instance {use_index:ti_state}
    WHERE state = 'scheduled'
    GROUP BY dag_id, run_id
) w
JOIN dag_run dr ON dr.dag_id = w.dag_id AND dr.run_id = w.run_id
JOIN dag d ON d.dag_id = w.dag_id
WHERE dr.state = 'running' AND d.is_paused = ?
ORDER BY dr.id
