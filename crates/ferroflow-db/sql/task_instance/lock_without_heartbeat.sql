SELECT id
FROM task_instance
WHERE id = ? AND state IN ('running', 'restarting') AND last_heartbeat_at < ?
{lock_skip:task_instance}
