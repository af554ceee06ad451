SELECT asset_id, dag_id, '' AS task_id, created_at, updated_at
FROM dag_schedule_asset_reference
WHERE asset_id IN ({in})
ORDER BY dag_id
