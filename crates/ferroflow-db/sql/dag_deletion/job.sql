DELETE FROM job WHERE dag_id = ?
