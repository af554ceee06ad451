INSERT INTO asset_watcher (name, asset_id, trigger_id) VALUES (?, ?, ?)
{or_keep:name}
