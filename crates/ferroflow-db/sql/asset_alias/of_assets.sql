SELECT l.asset_id, s.id, s.name, s.{name:group}
FROM asset_alias_asset l
JOIN asset_alias s ON s.id = l.alias_id
WHERE l.asset_id IN ({in})
ORDER BY s.id
