DELETE FROM task_outlet_asset_reference WHERE dag_id = ?
