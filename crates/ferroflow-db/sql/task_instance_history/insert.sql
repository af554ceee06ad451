-- One row per try: a try that is there already stays as it is. What people see in place of the map index is never empty
-- here, as in Airflow.
INSERT INTO task_instance_history (
    task_instance_id, task_id, dag_id, run_id, map_index, try_number, start_date, end_date, duration, state,
    max_tries, hostname, unixname, pool, pool_slots, queue, priority_weight, operator, custom_operator_name,
    queued_dttm, scheduled_dttm, queued_by_job_id, pid, executor, executor_config, updated_at, rendered_map_index,
    context_carrier, span_status, external_executor_id, trigger_id, trigger_timeout, next_method, next_kwargs,
    task_display_name, dag_version_id, retry_delay_override, retry_reason
)
SELECT
    ti.id, ti.task_id, ti.dag_id, ti.run_id, ti.map_index, ti.try_number, ti.start_date, ti.end_date, ti.duration, 'failed',
    ti.max_tries, ti.hostname, ti.unixname, ti.pool, ti.pool_slots, ti.queue, ti.priority_weight, ti.operator,
    ti.custom_operator_name, ti.queued_dttm, ti.scheduled_dttm, ti.queued_by_job_id, ti.pid, ti.executor,
    ti.executor_config, ti.updated_at,
    COALESCE(ti.rendered_map_index, CASE WHEN ti.map_index >= 0 THEN {text:ti.map_index} END),
    COALESCE(ti.context_carrier, 'null'), ti.span_status,
    ti.external_executor_id, ti.trigger_id, {utc:ti.trigger_timeout}, ti.next_method,
    COALESCE(ti.next_kwargs, 'null'), ti.task_display_name, ti.dag_version_id, ti.retry_delay_override, ti.retry_reason
FROM task_instance ti
WHERE ti.id = ? AND NOT EXISTS (
    SELECT 1 FROM task_instance_history h
    WHERE h.dag_id = ti.dag_id AND h.task_id = ti.task_id AND h.run_id = ti.run_id AND h.map_index = ti.map_index
        AND h.try_number = ti.try_number
)
