SELECT
    e.id, e.extra, e.source_task_id, e.source_dag_id, e.source_run_id, e.source_map_index, e.timestamp,
    e.partition_key, a.name, a.uri, a.extra AS asset_extra, al.name AS alias
FROM dagrun_asset_event c
JOIN asset_event e ON e.id = c.event_id
JOIN asset a ON a.id = e.asset_id
LEFT JOIN asset_alias_asset_event ae ON ae.event_id = e.id
LEFT JOIN asset_alias al ON al.id = ae.alias_id
WHERE c.dag_run_id = ?
ORDER BY e.id, al.id
