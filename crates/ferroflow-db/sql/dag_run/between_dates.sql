-- The run that started last comes last.
SELECT id, run_id, state, logical_date AS date
FROM dag_run
WHERE dag_id = ? AND logical_date BETWEEN ? AND ?
ORDER BY CASE WHEN start_date IS NULL THEN 0 ELSE 1 END, start_date, id DESC
