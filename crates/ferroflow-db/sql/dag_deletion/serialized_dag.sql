DELETE FROM serialized_dag WHERE dag_id = ?
