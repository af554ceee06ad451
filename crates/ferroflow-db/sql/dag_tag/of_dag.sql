SELECT name FROM dag_tag WHERE dag_id = ?
