SELECT state FROM dag_run WHERE dag_id = ? ORDER BY run_after DESC, id DESC LIMIT ?
