-- The state comes after what depends on it: MySQL assigns from left to right.
UPDATE dag_run
SET end_date = CASE WHEN state IN ('queued', 'running') THEN ? ELSE end_date END,
    state = ?, updated_at = ?
WHERE id = ? AND state = ?
