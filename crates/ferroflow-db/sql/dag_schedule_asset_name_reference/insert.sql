INSERT INTO dag_schedule_asset_name_reference (name, dag_id, created_at) VALUES (?, ?, ?)
{or_keep:dag_id}
