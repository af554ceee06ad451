UPDATE deadline_alert SET name = ? WHERE id = ?
