DELETE FROM import_error WHERE bundle_name = ?
