INSERT INTO asset_alias_asset_event (alias_id, event_id) VALUES (?, ?)
