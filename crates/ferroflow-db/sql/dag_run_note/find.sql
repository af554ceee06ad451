SELECT content
FROM dag_run_note
WHERE dag_run_id = ?
