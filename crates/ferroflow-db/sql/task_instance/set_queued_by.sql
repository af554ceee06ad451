UPDATE task_instance SET queued_by_job_id = ?, updated_at = ? WHERE id = ? AND state = ? AND queued_by_job_id = ?
