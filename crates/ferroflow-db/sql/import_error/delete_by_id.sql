DELETE FROM import_error WHERE id IN ({in})
