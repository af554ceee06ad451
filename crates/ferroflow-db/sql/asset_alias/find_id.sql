SELECT id FROM asset_alias WHERE name = ?
