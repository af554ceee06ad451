SELECT
    id, dag_id, run_id, task_id, map_index, state, try_number, max_tries, start_date, end_date, duration,
    hostname, unixname, pool, pool_slots, queue, priority_weight, operator, custom_operator_name,
    queued_dttm, scheduled_dttm, queued_by_job_id, last_heartbeat_at, pid, executor, executor_config, updated_at,
    rendered_map_index, context_carrier, external_executor_id, trigger_id, trigger_timeout,
    next_method, next_kwargs, task_display_name, dag_version_id, retry_delay_override, retry_reason
FROM task_instance
WHERE id IN ({in})
{lock_skip:task_instance}
