SELECT start_date FROM task_reschedule WHERE ti_id = ? ORDER BY id LIMIT 1
