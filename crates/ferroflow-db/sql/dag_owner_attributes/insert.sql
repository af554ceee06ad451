INSERT INTO dag_owner_attributes (dag_id, owner, link) VALUES (?, ?, ?)
