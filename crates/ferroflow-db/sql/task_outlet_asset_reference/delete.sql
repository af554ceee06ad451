DELETE FROM task_outlet_asset_reference WHERE asset_id = ? AND dag_id = ? AND task_id = ?
