SELECT id, dag_id, run_id, state, start_date, end_date
FROM dag_run
WHERE id > ? OR id IN ({few})
ORDER BY id
LIMIT ?
