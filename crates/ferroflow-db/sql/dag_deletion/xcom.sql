DELETE FROM xcom WHERE dag_id = ?
