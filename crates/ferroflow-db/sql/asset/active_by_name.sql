SELECT a.id, a.name, a.uri, a.{name:group}, a.extra
FROM asset a
WHERE a.name = ?
    AND EXISTS (SELECT 1 FROM asset_active x WHERE x.name = a.name AND x.uri = a.uri)
