DELETE FROM dag_schedule_asset_name_reference WHERE name = ? AND dag_id = ?
