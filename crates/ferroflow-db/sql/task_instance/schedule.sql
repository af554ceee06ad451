UPDATE task_instance
SET state = 'scheduled', scheduled_dttm = ?, try_number = try_number + ?, updated_at = ?
WHERE id IN ({in}) AND COALESCE(state, '') = ?
