SELECT {columns:dag_run}
FROM dag_run
WHERE dag_id = ? AND run_id = ?
