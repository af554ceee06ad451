SELECT {columns:dag}
FROM dag
WHERE dag_id IN ({in})
