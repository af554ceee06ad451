SELECT dag_run.id AS dag_run_id, ti.id, ti.task_id, ti.map_index, ti.state, ti.try_number, ti.start_date, ti.end_date,
    ti.retry_delay_override, ti.dag_version_id
FROM task_instance AS ti
JOIN dag_run ON dag_run.dag_id = ti.dag_id AND dag_run.run_id = ti.run_id
WHERE ti.id IN ({in}) AND ti.updated_at >= ?
