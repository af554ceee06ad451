SELECT {columns:callback}
FROM callback
WHERE id = ?
