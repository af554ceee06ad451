-- The stale DAGs that something still refers from. What a task reads stays: nothing follows from it.
SELECT d.dag_id AS dag_id FROM dag d JOIN dag_schedule_asset_reference r ON r.dag_id = d.dag_id WHERE d.is_stale
UNION
SELECT d.dag_id AS dag_id FROM dag d JOIN dag_schedule_asset_name_reference r ON r.dag_id = d.dag_id WHERE d.is_stale
UNION
SELECT d.dag_id AS dag_id FROM dag d JOIN dag_schedule_asset_uri_reference r ON r.dag_id = d.dag_id WHERE d.is_stale
UNION
SELECT d.dag_id AS dag_id FROM dag d JOIN dag_schedule_asset_alias_reference r ON r.dag_id = d.dag_id WHERE d.is_stale
UNION
SELECT d.dag_id AS dag_id FROM dag d JOIN task_outlet_asset_reference r ON r.dag_id = d.dag_id WHERE d.is_stale
ORDER BY dag_id
