SELECT dag_id
FROM dag
WHERE is_stale = ? AND bundle_name = ? AND (relative_fileloc = ? OR dag_id IN ({few}))
ORDER BY dag_id
