SELECT a.id, a.name, a.uri
FROM asset a
JOIN asset_active x ON x.name = a.name AND x.uri = a.uri
WHERE a.name IN ({few}) OR a.uri IN ({few})
ORDER BY a.id
