-- Only what may not be NULL; the rest follows by an update.
INSERT INTO dag (
    dag_id, is_paused, is_stale, bundle_name, timetable_type, partition_mapper_info, max_active_tasks,
    max_consecutive_failed_dag_runs, has_task_concurrency_limits
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
{upsert:dag_id} dag_id = {proposed:dag_id}
