SELECT dag_id, bundle_name, relative_fileloc, last_parsed_time
FROM dag
WHERE bundle_name = ? AND is_stale = ?
ORDER BY dag_id
