SELECT {columns:connection}
FROM connection
WHERE conn_id = ?
