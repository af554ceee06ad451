SELECT run_id
FROM dag_run
WHERE dag_id = ?
ORDER BY id DESC
LIMIT ?
