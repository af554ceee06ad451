INSERT INTO asset_alias (name, {name:group}) VALUES (?, ?)
{or_keep:name}
