UPDATE dag_schedule_asset_reference
SET allow_producer_teams = ?, allow_global_producers = ?, updated_at = ?
WHERE asset_id = ? AND dag_id = ?
