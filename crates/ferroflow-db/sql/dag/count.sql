SELECT COUNT(*) AS total
FROM dag
WHERE NOT is_stale
