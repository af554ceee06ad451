UPDATE dag_run SET conf = ?, updated_at = ? WHERE id = ?
