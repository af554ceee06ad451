INSERT INTO dag_schedule_asset_uri_reference (uri, dag_id, created_at) VALUES (?, ?, ?)
{or_keep:dag_id}
