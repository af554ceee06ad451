DELETE FROM import_error WHERE filename = ? AND bundle_name = ?
