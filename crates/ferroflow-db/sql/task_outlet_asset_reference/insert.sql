INSERT INTO task_outlet_asset_reference
    (asset_id, dag_id, task_id, allow_consumer_teams, allow_global_consumers, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?)
{or_keep:dag_id}
