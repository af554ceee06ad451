DELETE FROM dag_code WHERE dag_id = ?
