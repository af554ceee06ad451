-- The time of its last parse is named too: a parse that ended meanwhile has found the DAG.
UPDATE dag SET is_stale = ?
WHERE dag_id = ? AND is_stale = ? AND (last_parsed_time = ? OR last_parsed_time IS NULL)
