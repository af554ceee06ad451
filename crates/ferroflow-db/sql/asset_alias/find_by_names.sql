SELECT id, name, {name:group} FROM asset_alias WHERE name IN ({in})
