SELECT
    e.id, e.{name:timestamp}, e.extra, e.source_task_id, e.source_dag_id, e.source_run_id, e.source_map_index,
    e.partition_key, a.name, a.uri, a.{name:group}, a.extra AS asset_extra
FROM asset_event e
JOIN asset a ON a.id = e.asset_id
JOIN asset_alias_asset_event l ON l.event_id = e.id
JOIN asset_alias s ON s.id = l.alias_id
WHERE s.name = ?
    AND (? OR e.{name:timestamp} >= ?) AND (? OR e.{name:timestamp} <= ?)
ORDER BY e.{name:timestamp}, e.id
LIMIT ?
