-- Of active assets only: what no DAG declares any more does not count.
SELECT DISTINCT arrived.asset_partition_dag_run_id, arrived.source_partition_key, asset.name, asset.uri
FROM partitioned_asset_key_log AS arrived
JOIN asset ON asset.id = arrived.asset_id
JOIN asset_active AS active ON active.name = asset.name AND active.uri = asset.uri
WHERE arrived.asset_partition_dag_run_id IN ({in})
