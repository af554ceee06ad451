SELECT allow_consumer_teams, allow_global_consumers
FROM task_outlet_asset_reference
WHERE dag_id = ? AND task_id = ? AND asset_id = ?
