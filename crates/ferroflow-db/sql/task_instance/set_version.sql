-- What has not begun keeps the version that it was made with, as with Airflow: its list of states has NULL in it, which
-- no state equals.
UPDATE task_instance
SET dag_version_id = ?, updated_at = ?
WHERE dag_id = ? AND run_id = ? AND state IN (
    'scheduled', 'queued', 'running', 'restarting', 'up_for_retry', 'up_for_reschedule', 'deferred', 'awaiting_input'
)
