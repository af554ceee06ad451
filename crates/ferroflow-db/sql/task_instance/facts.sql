-- All that the start and the end of a try need, in one read. Columns of the instance are renamed where its run has one
-- of that name.
SELECT
    ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.try_number, ti.max_tries, ti.hostname, ti.unixname, ti.pid,
    ti.queue, ti.next_method, ti.next_kwargs, ti.dag_version_id, ti.queued_by_job_id, ti.operator,
    ti.state AS instance_state, ti.start_date AS instance_start_date, ti.context_carrier AS instance_context_carrier,
    dr.id, dr.state, dr.run_type, dr.triggered_by, dr.triggering_user_name, dr.creating_job_id,
    dr.scheduled_by_job_id, dr.backfill_id, dr.logical_date, dr.data_interval_start, dr.data_interval_end,
    dr.run_after, dr.partition_key, dr.partition_date, dr.queued_at, dr.start_date, dr.end_date,
    dr.last_scheduling_decision, dr.conf, dr.log_template_id, dr.clear_number, dr.bundle_version,
    dr.created_dag_version_id, dr.context_carrier, dr.created_at, dr.updated_at,
    d.owners, d.fail_fast, d.relative_fileloc,
    COALESCE(v.bundle_name, d.bundle_name) AS bundle_name, v.bundle_version AS version_bundle_version, n.content AS note,
    (SELECT MIN(t.team_name) FROM dag_bundle_team t WHERE t.dag_bundle_name = d.bundle_name) AS team_name,
    (SELECT COUNT(*) FROM task_reschedule r WHERE r.ti_id = ti.id) AS reschedules,
    EXISTS (SELECT 1 FROM xcom x WHERE x.dag_run_id = dr.id AND x.task_id = ti.task_id) AS has_xcoms,
    EXISTS (SELECT 1 FROM dagrun_asset_event e WHERE e.dag_run_id = dr.id) AS has_asset_events
FROM task_instance ti
JOIN dag_run dr ON dr.dag_id = ti.dag_id AND dr.run_id = ti.run_id
JOIN dag d ON d.dag_id = ti.dag_id
LEFT JOIN dag_version v ON v.id = ti.dag_version_id
LEFT JOIN dag_run_note n ON n.dag_run_id = dr.id
WHERE ti.id = ?
