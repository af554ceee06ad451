DELETE FROM asset_state_store WHERE asset_id = ?
