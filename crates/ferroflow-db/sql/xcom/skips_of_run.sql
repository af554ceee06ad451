SELECT task_id, map_index, value
FROM xcom
WHERE dag_id = ? AND run_id = ? AND {name:key} = 'skipmixin_key' AND task_id IN ({in})
