SELECT dag_id, name FROM dag_tag WHERE dag_id IN ({in})
