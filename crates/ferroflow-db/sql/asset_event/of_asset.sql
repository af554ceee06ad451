SELECT
    e.id, e.{name:timestamp}, e.extra, e.source_task_id, e.source_dag_id, e.source_run_id, e.source_map_index,
    e.partition_key, a.name, a.uri, a.{name:group}, a.extra AS asset_extra
FROM asset_event e
JOIN asset a ON a.id = e.asset_id
WHERE (? OR a.name = ?) AND (? OR a.uri = ?)
    AND (? OR EXISTS (SELECT 1 FROM asset_active x WHERE x.name = a.name AND x.uri = a.uri))
    AND (? OR e.{name:timestamp} >= ?) AND (? OR e.{name:timestamp} <= ?)
ORDER BY e.{name:timestamp}, e.id
LIMIT ?
