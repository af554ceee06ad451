INSERT INTO dag_version (
    id, version_number, dag_id, bundle_name, bundle_version, version_data, created_at, last_updated
) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
