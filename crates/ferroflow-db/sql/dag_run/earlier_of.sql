-- For each run the latest before its logical date; if so wished, without those that were triggered manually.
SELECT later.id,
    (
        SELECT earlier.id
        FROM dag_run AS earlier
        WHERE earlier.dag_id = later.dag_id AND earlier.logical_date < later.logical_date
            AND (? OR earlier.run_type <> 'manual')
        ORDER BY earlier.logical_date DESC
        LIMIT 1
    ) AS earlier_id
FROM dag_run AS later
WHERE later.id IN ({in})
