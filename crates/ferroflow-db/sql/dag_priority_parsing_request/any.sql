SELECT id FROM dag_priority_parsing_request WHERE bundle_name IN ({few}) LIMIT 1
