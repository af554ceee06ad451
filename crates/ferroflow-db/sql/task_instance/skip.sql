-- What runs or has ended by itself stays as it is.
UPDATE task_instance
SET state = 'skipped', start_date = ?, end_date = ?, updated_at = ?
WHERE dag_id = ? AND run_id = ? AND map_index = ? AND task_id IN ({in})
    AND (state IS NULL OR state NOT IN ('running', 'success', 'failed'))
