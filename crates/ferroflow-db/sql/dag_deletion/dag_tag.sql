DELETE FROM dag_tag WHERE dag_id = ?
