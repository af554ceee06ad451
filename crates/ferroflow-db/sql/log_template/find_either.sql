SELECT id FROM log_template WHERE filename = ? OR elasticsearch_id = ? LIMIT 1
