SELECT dag_id, owner, link FROM dag_owner_attributes WHERE dag_id IN ({in})
