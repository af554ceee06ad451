SELECT id, state, output
FROM callback
WHERE type = 'executor' AND state IN ('queued', 'running') AND output LIKE 'ferroflow: %'
