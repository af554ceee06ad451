DELETE FROM dag_schedule_asset_reference WHERE dag_id = ?
