INSERT INTO dag_schedule_asset_reference
    (asset_id, dag_id, allow_producer_teams, allow_global_producers, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?)
{or_keep:dag_id}
