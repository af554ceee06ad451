SELECT dag_id, bundle_name, relative_fileloc, last_parsed_time
FROM dag
WHERE is_stale = ?
ORDER BY dag_id
