SELECT id, name, reference, {name:interval}, callback_def
FROM deadline_alert
WHERE id IN ({few})
ORDER BY id
