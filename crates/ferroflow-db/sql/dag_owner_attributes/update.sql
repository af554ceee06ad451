UPDATE dag_owner_attributes SET link = ? WHERE dag_id = ? AND owner = ?
