UPDATE backfill SET updated_at = ? WHERE id = ?
