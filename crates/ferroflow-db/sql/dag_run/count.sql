SELECT COUNT(*) AS total
FROM dag_run
WHERE dag_id = ?
    AND (? OR logical_date IN ({few}))
    AND (? OR run_id IN ({few}))
    AND (? OR state IN ({few}))
