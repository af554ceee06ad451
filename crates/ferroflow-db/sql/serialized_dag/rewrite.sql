UPDATE serialized_dag
SET data = ?, data_compressed = ?, dag_hash = ?, last_updated = ?
WHERE dag_version_id = ?
