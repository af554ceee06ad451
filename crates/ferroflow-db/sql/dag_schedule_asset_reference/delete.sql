DELETE FROM dag_schedule_asset_reference WHERE asset_id = ? AND dag_id = ?
