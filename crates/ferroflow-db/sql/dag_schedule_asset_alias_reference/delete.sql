DELETE FROM dag_schedule_asset_alias_reference WHERE alias_id = ? AND dag_id = ?
