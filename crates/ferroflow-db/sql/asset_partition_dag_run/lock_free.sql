SELECT id
FROM asset_partition_dag_run
WHERE id IN ({in}) AND created_dag_run_id IS NULL
{lock_skip:asset_partition_dag_run}
