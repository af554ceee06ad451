UPDATE dag_version
SET bundle_name = ?, bundle_version = ?, version_data = ?, last_updated = ?
WHERE id = ?
