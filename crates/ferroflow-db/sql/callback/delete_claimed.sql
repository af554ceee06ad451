DELETE FROM callback WHERE id = ? AND bundle_name = ?
