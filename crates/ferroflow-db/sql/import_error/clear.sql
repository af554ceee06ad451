DELETE FROM import_error WHERE bundle_name = ? AND filename = ?
