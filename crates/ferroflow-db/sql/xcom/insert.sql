INSERT INTO xcom (
    dag_run_id, task_id, map_index, {name:key}, dag_id, run_id, value, dag_result, {name:timestamp}
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
