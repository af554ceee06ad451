DELETE FROM dag WHERE dag_id = ?
