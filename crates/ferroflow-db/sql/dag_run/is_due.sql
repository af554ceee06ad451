SELECT run_id FROM dag_run WHERE dag_id = ? AND run_id = ? AND run_after <= ?
