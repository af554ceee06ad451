INSERT INTO serialized_dag (
    id, dag_id, data, data_compressed, created_at, last_updated, dag_hash, dag_version_id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
