-- The newest version may have none. By the index of each DAG's versions: there may be thousands of them.
SELECT document.dag_id, document.dag_version_id, document.dag_hash
FROM dag
JOIN serialized_dag AS document ON document.dag_version_id = (
    SELECT version.id
    FROM dag_version AS version
    JOIN serialized_dag AS stored ON stored.dag_version_id = version.id
    WHERE version.dag_id = dag.dag_id
    ORDER BY version.version_number DESC
    LIMIT 1
)
WHERE dag.dag_id IN ({in})
