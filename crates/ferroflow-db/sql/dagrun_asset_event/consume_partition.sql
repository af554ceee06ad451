INSERT INTO dagrun_asset_event (dag_run_id, event_id)
SELECT DISTINCT ?, arrived.asset_event_id
FROM partitioned_asset_key_log AS arrived
JOIN asset_event AS event ON event.id = arrived.asset_event_id
WHERE arrived.asset_partition_dag_run_id = ?
