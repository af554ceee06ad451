DELETE FROM task_reschedule WHERE ti_id = ?
