-- The state comes after what depends on it: MySQL assigns from left to right.
UPDATE dag_run
SET start_date = CASE WHEN start_date IS NULL OR state IN ('success', 'failed') THEN ? ELSE start_date END,
    end_date = NULL, state = ?, updated_at = ?
WHERE id = ? AND state = ?
