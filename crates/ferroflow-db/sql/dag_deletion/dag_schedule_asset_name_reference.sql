DELETE FROM dag_schedule_asset_name_reference WHERE dag_id = ?
