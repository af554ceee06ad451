SELECT
    dttm, event, dag_id, run_id, task_id, map_index, try_number, logical_date, owner, owner_display_name, extra
FROM log
WHERE dag_id = ? AND run_id = ? AND task_id = ? AND map_index = ? AND try_number = ? AND event = ?
ORDER BY dttm DESC, id DESC
LIMIT 1
