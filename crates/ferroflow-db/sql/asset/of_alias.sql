SELECT a.id, a.name, a.uri, a.{name:group}, a.extra
FROM asset a
JOIN asset_alias_asset l ON l.asset_id = a.id
JOIN asset_alias s ON s.id = l.alias_id
WHERE s.name = ?
ORDER BY a.id
