SELECT {columns:dag_run}
FROM dag_run
WHERE dag_id = ? AND logical_date = ?
ORDER BY id DESC
LIMIT 1
