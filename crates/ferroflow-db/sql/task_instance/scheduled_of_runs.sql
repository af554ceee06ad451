SELECT
    ti.id, ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.priority_weight, ti.pool, ti.pool_slots, ti.executor,
    ti.scheduled_dttm, dr.id AS dag_run_id, dr.run_after, dr.run_type, d.is_paused, d.max_active_tasks,
    d.has_task_concurrency_limits,
    (SELECT MIN(t.team_name) FROM dag_bundle_team t WHERE t.dag_bundle_name = d.bundle_name) AS team_name
FROM dag_run dr
JOIN task_instance ti ON ti.dag_id = dr.dag_id AND ti.run_id = dr.run_id
JOIN dag d ON d.dag_id = dr.dag_id
WHERE dr.id IN ({in}) AND ti.state = 'scheduled' AND dr.state = 'running'
