SELECT start_date, end_date
FROM dag_run
WHERE dag_id = ? AND state = 'success' AND start_date IS NOT NULL AND end_date IS NOT NULL
ORDER BY logical_date DESC
LIMIT ?
