SELECT task_id, COUNT(*) AS results
FROM xcom
WHERE dag_id = ? AND run_id = ? AND {name:key} = 'return_value' AND map_index >= 0 AND task_id IN ({in})
GROUP BY task_id
