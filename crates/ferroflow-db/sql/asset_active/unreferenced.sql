SELECT a.id, a.name, a.uri
FROM asset_active c
JOIN asset a ON a.name = c.name AND a.uri = c.uri
WHERE a.id > ?
    AND NOT EXISTS (SELECT 1 FROM dag_schedule_asset_reference s WHERE s.asset_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM task_outlet_asset_reference o WHERE o.asset_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM task_inlet_asset_reference i WHERE i.asset_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM asset_alias_asset l WHERE l.asset_id = a.id)
ORDER BY a.id
LIMIT ?
