SELECT id, run_id, logical_date
FROM dag_run
WHERE dag_id = ? AND logical_date < ? AND (? OR run_type <> 'manual')
ORDER BY logical_date DESC
LIMIT 1
