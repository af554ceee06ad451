DELETE FROM xcom
WHERE dag_id = ? AND task_id = ? AND run_id = ? AND {name:key} = ? AND map_index = ?
