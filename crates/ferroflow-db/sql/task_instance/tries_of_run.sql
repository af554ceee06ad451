SELECT task_id, map_index, try_number, state, queued_dttm, start_date, end_date
FROM task_instance
WHERE dag_id = ? AND run_id = ?
