UPDATE connection SET password = ?, is_encrypted = ? WHERE conn_id = ?
