SELECT document.dag_id, document.dag_version_id, document.dag_hash
FROM serialized_dag AS document
JOIN dag_version AS version ON version.id = document.dag_version_id
WHERE version.dag_id IN ({in})
    AND version.version_number = (
        SELECT MAX(stored.version_number)
        FROM dag_version AS stored
        JOIN serialized_dag AS with_document ON with_document.dag_version_id = stored.id
        WHERE stored.dag_id = version.dag_id
    )
