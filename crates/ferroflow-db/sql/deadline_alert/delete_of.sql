DELETE FROM deadline_alert WHERE serialized_dag_id = ?
