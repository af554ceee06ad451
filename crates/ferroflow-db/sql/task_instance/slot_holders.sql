SELECT
    dag_id, run_id, task_id, map_index, state, pool, pool_slots, start_date, queued_dttm, queued_by_job_id
FROM task_instance {use_index:ti_state}
WHERE state IN ('queued', 'running', 'deferred', 'awaiting_input')
ORDER BY dag_id, run_id, task_id, map_index
