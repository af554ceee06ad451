DELETE FROM dag_schedule_asset_uri_reference WHERE dag_id = ?
