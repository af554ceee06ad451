-- Those that never ended come last: false sorts before true.
SELECT id
FROM task_instance
WHERE dag_id = ? AND run_id = ? AND state = ?
ORDER BY end_date IS NULL, end_date DESC, task_id, map_index
LIMIT 1
