-- The newest version may have none. The row is looked up by its id: rows with documents are too wide to be sorted.
SELECT id, dag_id, data, data_compressed, created_at, last_updated, dag_hash, dag_version_id
FROM serialized_dag
WHERE id = (
    SELECT document.id
    FROM serialized_dag AS document
    JOIN dag_version AS version ON version.id = document.dag_version_id
    WHERE version.dag_id = ?
    ORDER BY version.version_number DESC
    LIMIT 1
)
