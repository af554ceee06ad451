SELECT id, bundle_name, relative_fileloc
FROM dag_priority_parsing_request
WHERE bundle_name IN ({few})
ORDER BY id
{lock_skip:dag_priority_parsing_request}
