INSERT INTO asset_event (
    asset_id, extra, source_task_id, source_dag_id, source_run_id, source_map_index, timestamp, partition_key
) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
{returning:id}
