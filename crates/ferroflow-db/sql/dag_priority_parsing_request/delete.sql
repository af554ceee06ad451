DELETE FROM dag_priority_parsing_request WHERE id IN ({in})
