DELETE FROM dag_run
WHERE id = ?
