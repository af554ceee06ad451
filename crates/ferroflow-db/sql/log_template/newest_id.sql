SELECT MAX(id) AS id FROM log_template
