INSERT INTO dag_code (
    id, dag_id, fileloc, created_at, last_updated, source_code, source_code_hash, dag_version_id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
