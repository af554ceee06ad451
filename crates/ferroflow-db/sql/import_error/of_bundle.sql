SELECT id, filename, timestamp FROM import_error WHERE bundle_name = ?
