SELECT {columns:connection}
FROM connection
ORDER BY id
