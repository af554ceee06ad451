-- How it was to go on stays until the history has it.
UPDATE task_instance
SET state = 'up_for_retry', end_date = ?, duration = ?, rendered_map_index = ?, retry_delay_override = ?,
    retry_reason = ?, updated_at = ?
WHERE id = ? AND state = ?
