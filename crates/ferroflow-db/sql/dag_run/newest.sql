SELECT run_id, state, run_after, start_date, end_date
FROM dag_run
WHERE dag_id = ?
ORDER BY run_after DESC, id DESC
LIMIT ?
