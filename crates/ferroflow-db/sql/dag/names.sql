SELECT dag_id FROM dag
