INSERT INTO task_inlet_asset_reference (asset_id, dag_id, task_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
{or_keep:dag_id}
