SELECT id
FROM task_instance
WHERE id = ? AND state = 'queued' AND queued_dttm < ? AND queued_by_job_id = ?
{lock_skip:task_instance}
