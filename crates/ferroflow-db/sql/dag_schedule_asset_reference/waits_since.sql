SELECT MIN(created_at) AS since FROM dag_schedule_asset_reference WHERE dag_id = ?
