INSERT INTO import_error (timestamp, filename, bundle_name, stacktrace)
VALUES (?, ?, ?, ?)
{returning:id}
