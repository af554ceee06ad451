UPDATE backfill SET is_paused = ?, updated_at = ? WHERE id = ? AND completed_at IS NULL
