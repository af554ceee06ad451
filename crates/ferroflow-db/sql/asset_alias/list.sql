SELECT id, name, {name:group} FROM asset_alias ORDER BY name
