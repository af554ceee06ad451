SELECT {columns:dag_run dr},
    d.is_paused, d.max_active_tasks, d.bundle_name, d.relative_fileloc,
    (SELECT MIN(t.team_name) FROM dag_bundle_team t WHERE t.dag_bundle_name = d.bundle_name) AS team_name
FROM dag_run dr
JOIN dag d ON d.dag_id = dr.dag_id
WHERE dr.id IN ({in})
