DELETE FROM rendered_task_instance_fields
WHERE dag_id = ? AND run_id = ? AND task_id = ? AND map_index = ?
