DELETE FROM dag_warning WHERE dag_id IN ({in})
