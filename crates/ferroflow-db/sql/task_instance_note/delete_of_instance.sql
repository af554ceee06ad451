DELETE FROM task_instance_note
WHERE ti_id = ?
