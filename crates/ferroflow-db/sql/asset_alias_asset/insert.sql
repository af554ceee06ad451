INSERT INTO asset_alias_asset (alias_id, asset_id) VALUES (?, ?)
{or_keep:alias_id}
