SELECT DISTINCT r.dag_id
FROM task_outlet_asset_reference r
JOIN asset a ON a.id = r.asset_id
WHERE (? OR a.name = ?) AND (? OR a.uri = ?)
ORDER BY r.dag_id
