INSERT INTO dag_tag (name, dag_id) VALUES (?, ?)
