UPDATE connection SET extra = ?, is_extra_encrypted = ? WHERE conn_id = ?
