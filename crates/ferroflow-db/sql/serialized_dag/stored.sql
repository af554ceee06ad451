SELECT dag_version_id FROM serialized_dag WHERE dag_version_id IN ({in})
