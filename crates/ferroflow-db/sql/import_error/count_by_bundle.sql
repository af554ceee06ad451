SELECT bundle_name, COUNT(*) AS errors
FROM import_error
GROUP BY bundle_name
