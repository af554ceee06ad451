SELECT {name:key} FROM xcom WHERE dag_run_id = ? AND task_id = ? AND (? OR map_index = ?) ORDER BY map_index, {name:key}
