SELECT {columns:dag_scheduling}
FROM dag
WHERE dag_id IN ({in})
