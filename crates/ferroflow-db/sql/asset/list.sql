SELECT id, name, uri, {name:group}, extra, created_at, updated_at
FROM asset
WHERE (? OR name = ?) AND (? OR uri = ?)
ORDER BY name, id
