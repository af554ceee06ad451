SELECT
    l.event_id, r.run_id, r.dag_id, r.logical_date, r.start_date, r.end_date, r.state, r.data_interval_start,
    r.data_interval_end, r.partition_key
FROM dagrun_asset_event l
JOIN dag_run r ON r.id = l.dag_run_id
WHERE l.event_id IN ({few})
ORDER BY r.id
