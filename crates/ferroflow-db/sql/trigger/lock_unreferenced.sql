-- Deleting a trigger deletes the task instances that wait for it: those that nothing waits for are locked first, and
-- looked at again.
SELECT t.id
FROM {name:trigger} t
WHERE t.id > ?
    AND NOT EXISTS (SELECT 1 FROM asset_watcher w WHERE w.trigger_id = t.id)
    AND NOT EXISTS (SELECT 1 FROM task_instance i WHERE i.trigger_id = t.id)
ORDER BY t.id
LIMIT ?
{lock_skip:t}
