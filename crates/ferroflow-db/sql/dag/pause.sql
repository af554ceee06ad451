UPDATE dag SET is_paused = ? WHERE dag_id = ? AND is_paused = ?
