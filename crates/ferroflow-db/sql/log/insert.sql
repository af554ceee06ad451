INSERT INTO log (
    dttm, event, dag_id, run_id, task_id, map_index, try_number, logical_date, owner, owner_display_name, extra
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
