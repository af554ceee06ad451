SELECT state, COUNT(*) AS total
FROM connection_test_request
WHERE state IN ('pending', 'queued', 'running')
GROUP BY state
