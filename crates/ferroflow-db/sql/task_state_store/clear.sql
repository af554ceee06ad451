DELETE FROM task_state_store
WHERE dag_id = ? AND run_id = ? AND task_id = ? AND map_index = ?
