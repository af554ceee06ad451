SELECT w.asset_id, w.name, w.trigger_id, t.created_date
FROM asset_watcher w
JOIN {name:trigger} t ON t.id = w.trigger_id
WHERE w.asset_id IN ({in})
ORDER BY w.name
