-- Those that never started come last: false sorts before true.
SELECT id
FROM task_instance
WHERE dag_id = ? AND run_id = ?
ORDER BY start_date IS NULL, start_date DESC, task_id, map_index
