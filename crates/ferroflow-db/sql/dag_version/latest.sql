SELECT id, version_number, dag_id, bundle_name, bundle_version, version_data, created_at, last_updated
FROM dag_version
WHERE dag_id = ?
ORDER BY version_number DESC
LIMIT 1
