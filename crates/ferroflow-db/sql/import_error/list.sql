SELECT id, timestamp, filename, bundle_name, stacktrace
FROM import_error
{where}
{order}
{page}
