DELETE FROM asset_active
WHERE name = ? AND uri = ?
    AND NOT EXISTS (SELECT 1 FROM dag_schedule_asset_reference s WHERE s.asset_id = ?)
    AND NOT EXISTS (SELECT 1 FROM task_outlet_asset_reference o WHERE o.asset_id = ?)
    AND NOT EXISTS (SELECT 1 FROM task_inlet_asset_reference i WHERE i.asset_id = ?)
    AND NOT EXISTS (SELECT 1 FROM asset_alias_asset l WHERE l.asset_id = ?)
