SELECT w.asset_id, w.trigger_id, t.classpath, t.kwargs
FROM asset_watcher w
JOIN {name:trigger} t ON t.id = w.trigger_id
WHERE w.asset_id IN ({in})
