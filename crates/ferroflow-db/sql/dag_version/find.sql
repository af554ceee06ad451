SELECT id, version_number, dag_id, bundle_name, bundle_version, created_at FROM dag_version WHERE id = ?
