SELECT triggerer_id
FROM {name:trigger}
WHERE id = ?
