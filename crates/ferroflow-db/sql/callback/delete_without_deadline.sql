DELETE FROM callback WHERE id IN ({in}) AND NOT EXISTS (SELECT 1 FROM deadline WHERE deadline.callback_id = callback.id)
