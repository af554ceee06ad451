SELECT dag_run.id AS dag_run_id, COUNT(*) AS instances,
    COUNT(CASE WHEN ti.state IN ('success', 'skipped') THEN NULL ELSE 1 END) AS unsuccessful,
    MAX(ti.updated_at) AS updated_at
FROM dag_run
JOIN task_instance AS ti ON ti.dag_id = dag_run.dag_id AND ti.run_id = dag_run.run_id
WHERE dag_run.id IN ({in})
GROUP BY dag_run.id
