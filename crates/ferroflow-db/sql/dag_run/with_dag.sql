SELECT
    dr.id, dr.dag_id, dr.run_id, dr.state, dr.run_type, dr.triggered_by, dr.triggering_user_name, dr.creating_job_id,
    dr.scheduled_by_job_id, dr.backfill_id, dr.logical_date, dr.data_interval_start, dr.data_interval_end,
    dr.run_after, dr.partition_key, dr.partition_date, dr.queued_at, dr.start_date, dr.end_date,
    dr.last_scheduling_decision, dr.conf, dr.log_template_id, dr.clear_number, dr.bundle_version,
    dr.created_dag_version_id, dr.context_carrier, dr.created_at, dr.updated_at,
    d.is_paused, d.max_active_tasks, d.bundle_name, d.relative_fileloc,
    (SELECT MIN(t.team_name) FROM dag_bundle_team t WHERE t.dag_bundle_name = d.bundle_name) AS team_name
FROM dag_run dr
JOIN dag d ON d.dag_id = dr.dag_id
WHERE dr.id IN ({in})
