UPDATE task_instance SET rendered_map_index = ?, updated_at = ? WHERE id = ?
