DELETE FROM partitioned_asset_key_log WHERE asset_partition_dag_run_id IN ({in})
