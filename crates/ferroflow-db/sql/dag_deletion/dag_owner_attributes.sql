DELETE FROM dag_owner_attributes WHERE dag_id = ?
