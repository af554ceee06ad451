SELECT id FROM dag_priority_parsing_request WHERE bundle_name IN ({in}) LIMIT 1
