UPDATE import_error
SET timestamp = ?, stacktrace = ?
WHERE bundle_name = ? AND filename = ?
