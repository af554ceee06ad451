DELETE FROM dag_version WHERE dag_id = ?
