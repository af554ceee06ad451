INSERT INTO task_reschedule (ti_id, start_date, end_date, duration, reschedule_date) VALUES (?, ?, ?, ?, ?)
