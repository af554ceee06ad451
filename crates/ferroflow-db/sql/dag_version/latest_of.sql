-- The latest version is the one with the greatest number: two may have been made at the same time.
SELECT
    version.dag_id, version.id, version.bundle_name, version.bundle_version, version.version_data,
    document.id AS serialized_dag_id, document.dag_hash, document.last_updated AS written_at,
    code.id AS dag_code_id, code.source_code_hash,
    CASE WHEN EXISTS (
        SELECT 1 FROM task_instance AS ti WHERE ti.dag_id = version.dag_id AND ti.dag_version_id = version.id
    ) THEN 1 ELSE 0 END AS has_task_instances
FROM dag_version AS version
JOIN (
    SELECT dag_id, MAX(version_number) AS version_number
    FROM dag_version
    WHERE dag_id IN ({in})
    GROUP BY dag_id
) AS newest ON newest.dag_id = version.dag_id AND newest.version_number = version.version_number
LEFT JOIN serialized_dag AS document ON document.dag_version_id = version.id
LEFT JOIN dag_code AS code ON code.dag_version_id = version.id
