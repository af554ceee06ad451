SELECT w.asset_id, w.trigger_id
FROM asset_watcher w
WHERE NOT EXISTS (SELECT 1 FROM dag_schedule_asset_reference r WHERE r.asset_id = w.asset_id)
