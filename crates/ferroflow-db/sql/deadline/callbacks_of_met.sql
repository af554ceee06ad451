SELECT id, callback_id FROM deadline WHERE dagrun_id = ? AND missed = ? AND deadline_time >= ?
