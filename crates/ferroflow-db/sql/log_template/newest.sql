SELECT filename, elasticsearch_id FROM log_template ORDER BY id DESC LIMIT 1
