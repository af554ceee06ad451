SELECT conn_id, conn_type FROM connection ORDER BY id
