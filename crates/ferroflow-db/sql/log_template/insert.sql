INSERT INTO log_template (filename, elasticsearch_id, created_at) VALUES (?, ?, ?)
