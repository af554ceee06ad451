INSERT INTO partitioned_asset_key_log (
    asset_id, asset_event_id, asset_partition_dag_run_id, source_partition_key, target_dag_id, target_partition_key,
    created_at
) VALUES (?, ?, ?, ?, ?, ?, ?)
