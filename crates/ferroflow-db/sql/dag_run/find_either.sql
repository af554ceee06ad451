SELECT run_id
FROM dag_run
WHERE dag_id = ? AND (run_id = ? OR logical_date = ?)
LIMIT 1
