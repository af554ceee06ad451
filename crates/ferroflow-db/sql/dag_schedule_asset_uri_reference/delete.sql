DELETE FROM dag_schedule_asset_uri_reference WHERE uri = ? AND dag_id = ?
