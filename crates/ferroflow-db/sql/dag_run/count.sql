SELECT COUNT(*) AS total
FROM dag_run
WHERE dag_id = ?
    AND (? OR logical_date IN ({in}))
    AND (? OR run_id IN ({in}))
    AND (? OR state IN ({in}))
