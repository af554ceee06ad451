-- What a deferred task or a callback waits for is theirs alone.
SELECT t.id, t.classpath, t.kwargs, t.team_name
FROM {name:trigger} t
WHERE t.classpath IN ({few})
    AND NOT EXISTS (SELECT 1 FROM task_instance i WHERE i.trigger_id = t.id)
    AND NOT EXISTS (SELECT 1 FROM callback c WHERE c.trigger_id = t.id)
ORDER BY t.id
