UPDATE deadline SET missed = ?, last_updated_at = ? WHERE id = ? AND missed = ?
