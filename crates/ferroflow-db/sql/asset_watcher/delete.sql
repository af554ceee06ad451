DELETE FROM asset_watcher WHERE asset_id = ? AND trigger_id = ?
