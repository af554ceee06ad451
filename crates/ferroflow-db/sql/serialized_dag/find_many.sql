SELECT id, dag_id, data, data_compressed, created_at, last_updated, dag_hash, dag_version_id
FROM serialized_dag
WHERE dag_version_id IN ({in})
