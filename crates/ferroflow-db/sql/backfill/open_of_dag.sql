SELECT id FROM backfill WHERE dag_id = ? AND completed_at IS NULL ORDER BY id LIMIT 1
