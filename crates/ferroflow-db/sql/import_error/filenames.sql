SELECT DISTINCT filename FROM import_error WHERE bundle_name = ? AND filename IN ({in})
