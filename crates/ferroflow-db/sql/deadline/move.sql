UPDATE deadline SET deadline_time = ?, last_updated_at = ? WHERE id = ? AND missed = ?
