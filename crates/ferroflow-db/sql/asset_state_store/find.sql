SELECT value FROM asset_state_store WHERE asset_id = ? AND {name:key} = ?
