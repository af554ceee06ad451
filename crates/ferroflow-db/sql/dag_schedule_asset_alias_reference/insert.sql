INSERT INTO dag_schedule_asset_alias_reference (alias_id, dag_id, created_at, updated_at) VALUES (?, ?, ?, ?)
{or_keep:dag_id}
