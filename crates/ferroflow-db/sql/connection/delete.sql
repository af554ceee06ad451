DELETE FROM connection WHERE conn_id = ?
