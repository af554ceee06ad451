UPDATE task_instance
SET state = ?, end_date = ?, duration = ?, rendered_map_index = ?, next_method = NULL, next_kwargs = 'null',
    updated_at = ?
WHERE id = ? AND state = ?
