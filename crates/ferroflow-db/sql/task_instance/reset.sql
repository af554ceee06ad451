UPDATE task_instance
SET id = ?, state = NULL, queued_by_job_id = NULL, external_executor_id = NULL, next_method = NULL,
    next_kwargs = 'null', updated_at = ?
WHERE id = ? AND state = ? AND queued_by_job_id = ?
