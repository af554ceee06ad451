SELECT value
FROM xcom
WHERE dag_id = ? AND task_id = ? AND run_id = ? AND {name:key} = ?
ORDER BY map_index
LIMIT ? OFFSET ?
