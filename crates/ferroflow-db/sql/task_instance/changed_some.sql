SELECT dag_run.id AS dag_run_id, {columns:task_instance_scheduling ti}
FROM task_instance AS ti
JOIN dag_run ON dag_run.dag_id = ti.dag_id AND dag_run.run_id = ti.run_id
WHERE ti.id IN ({in}) AND ti.updated_at >= ?
