UPDATE task_outlet_asset_reference
SET allow_consumer_teams = ?, allow_global_consumers = ?, updated_at = ?
WHERE asset_id = ? AND dag_id = ? AND task_id = ?
