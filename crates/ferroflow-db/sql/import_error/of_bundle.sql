SELECT id, filename FROM import_error WHERE bundle_name = ?
