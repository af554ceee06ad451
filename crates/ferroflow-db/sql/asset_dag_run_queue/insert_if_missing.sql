INSERT INTO asset_dag_run_queue (asset_id, target_dag_id, created_at) VALUES (?, ?, ?)
{or_keep:asset_id}
