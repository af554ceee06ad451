SELECT asset_id, dag_id, task_id, created_at, updated_at
FROM task_inlet_asset_reference
WHERE asset_id IN ({in})
ORDER BY dag_id, task_id
