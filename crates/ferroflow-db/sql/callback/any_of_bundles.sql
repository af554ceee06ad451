SELECT id FROM callback WHERE type = 'dag_processor' AND bundle_name IN ({few}) LIMIT 1
