DELETE FROM task_inlet_asset_reference WHERE dag_id = ?
