UPDATE dag_run
SET scheduled_by_job_id = NULL
WHERE scheduled_by_job_id = ? AND state = 'running'
