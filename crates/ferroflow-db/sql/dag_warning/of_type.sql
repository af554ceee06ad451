SELECT dag_id, warning_type, message FROM dag_warning WHERE warning_type = ?
