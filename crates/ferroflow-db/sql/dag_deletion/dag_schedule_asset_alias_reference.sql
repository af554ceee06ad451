DELETE FROM dag_schedule_asset_alias_reference WHERE dag_id = ?
