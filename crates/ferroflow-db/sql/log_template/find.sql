SELECT filename, elasticsearch_id
FROM log_template
WHERE id = ?
