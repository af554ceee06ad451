SELECT {columns:dag_run}
FROM dag_run
WHERE dag_id = ? AND logical_date < ? AND (? OR state = ?)
ORDER BY logical_date DESC
LIMIT 1
