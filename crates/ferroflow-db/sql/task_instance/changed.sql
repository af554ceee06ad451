SELECT dag_run.id AS dag_run_id, {columns:task_instance_scheduling ti}
FROM dag_run
JOIN task_instance AS ti ON ti.dag_id = dag_run.dag_id AND ti.run_id = dag_run.run_id
WHERE dag_run.id IN ({in}) AND ti.updated_at >= ?
