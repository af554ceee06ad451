DELETE FROM deadline WHERE callback_id IN ({in}) AND missed = ?
