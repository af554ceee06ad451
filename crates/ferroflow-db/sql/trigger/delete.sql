DELETE FROM {name:trigger} WHERE id = ?
