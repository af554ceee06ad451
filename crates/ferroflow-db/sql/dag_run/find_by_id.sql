SELECT {columns:dag_run}
FROM dag_run
WHERE id = ?
