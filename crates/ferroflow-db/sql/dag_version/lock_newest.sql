SELECT version_number
FROM dag_version
WHERE dag_id = ?
ORDER BY version_number DESC
LIMIT 1
{lock_nowait}
