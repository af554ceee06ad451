SELECT id, data, bundle_name
FROM callback
WHERE type = 'dag_processor' AND bundle_name LIKE 'ferroflow:%'
