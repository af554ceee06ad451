SELECT document.dag_version_id, document.dag_hash
FROM serialized_dag AS document
JOIN dag_version AS version ON version.id = document.dag_version_id
WHERE version.dag_id = ?
ORDER BY version.version_number DESC
LIMIT 1
