INSERT INTO dag_priority_parsing_request (id, bundle_name, relative_fileloc) VALUES (?, ?, ?)
