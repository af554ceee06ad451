UPDATE backfill SET updated_at = ? WHERE id = ? AND completed_at IS NULL AND updated_at < ?
