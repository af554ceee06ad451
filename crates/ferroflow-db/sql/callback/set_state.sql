UPDATE callback SET state = ?, data = ?, trigger_id = ?, output = ?
WHERE id = ? AND (state = ? OR (state IS NULL AND ? IS NULL))
