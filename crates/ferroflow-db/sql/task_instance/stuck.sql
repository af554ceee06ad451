SELECT id, dag_id, run_id, task_id, map_index, try_number, queued_dttm, executor
FROM task_instance
WHERE state = 'queued' AND queued_dttm < ? AND queued_by_job_id = ? AND id > ?
ORDER BY id
LIMIT ?
