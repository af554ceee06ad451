SELECT id, name, reference, {name:interval}, callback_def
FROM deadline_alert
WHERE id IN ({in})
ORDER BY id
