DELETE FROM dag_run WHERE dag_id = ?
