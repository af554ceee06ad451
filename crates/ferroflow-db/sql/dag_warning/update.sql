UPDATE dag_warning SET message = ? WHERE dag_id = ? AND warning_type = ?
