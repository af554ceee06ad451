DELETE FROM {name:trigger} WHERE id IN ({in})
