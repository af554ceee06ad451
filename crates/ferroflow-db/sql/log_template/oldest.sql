SELECT filename, elasticsearch_id
FROM log_template
ORDER BY id
LIMIT 1
