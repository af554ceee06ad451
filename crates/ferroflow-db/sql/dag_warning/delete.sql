DELETE FROM dag_warning WHERE dag_id = ? AND warning_type = ?
