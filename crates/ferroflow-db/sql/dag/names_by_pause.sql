SELECT dag_id FROM dag WHERE is_paused = ?
