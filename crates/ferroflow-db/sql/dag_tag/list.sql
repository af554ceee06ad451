SELECT dag_id, name FROM dag_tag
