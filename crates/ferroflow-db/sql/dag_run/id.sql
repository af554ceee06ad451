SELECT id FROM dag_run WHERE dag_id = ? AND run_id = ?
