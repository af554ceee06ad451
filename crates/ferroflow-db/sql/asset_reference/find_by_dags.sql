-- Every reference of these DAGs to assets, and the expression that shows them: one read in place of seven. PostgreSQL
-- takes the types of the columns from the first parts.
SELECT
    'outlet' AS kind, dag_id, asset_id AS number, task_id AS target, allow_consumer_teams AS content,
    allow_global_consumers AS allow_global
FROM task_outlet_asset_reference
WHERE dag_id IN ({few})
UNION ALL
SELECT 'schedule', dag_id, asset_id, NULL, allow_producer_teams, allow_global_producers
FROM dag_schedule_asset_reference
WHERE dag_id IN ({few})
UNION ALL
SELECT 'expression', dag_id, NULL, NULL, asset_expression, NULL
FROM dag
WHERE dag_id IN ({few})
UNION ALL
SELECT 'alias', dag_id, alias_id, NULL, NULL, NULL
FROM dag_schedule_asset_alias_reference
WHERE dag_id IN ({few})
UNION ALL
SELECT 'name', dag_id, NULL, name, NULL, NULL
FROM dag_schedule_asset_name_reference
WHERE dag_id IN ({few})
UNION ALL
SELECT 'uri', dag_id, NULL, uri, NULL, NULL
FROM dag_schedule_asset_uri_reference
WHERE dag_id IN ({few})
UNION ALL
SELECT 'inlet', dag_id, asset_id, task_id, NULL, NULL
FROM task_inlet_asset_reference
WHERE dag_id IN ({few})
