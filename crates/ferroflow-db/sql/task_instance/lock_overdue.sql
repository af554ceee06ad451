SELECT id, dag_id, run_id, task_id, map_index, next_method, next_kwargs
FROM task_instance
WHERE state = ? AND trigger_timeout < ? AND id > ?
ORDER BY id
LIMIT ?
{lock_skip:task_instance}
