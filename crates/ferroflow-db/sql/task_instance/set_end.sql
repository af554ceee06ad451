UPDATE task_instance SET end_date = ?, duration = ? WHERE id = ?
