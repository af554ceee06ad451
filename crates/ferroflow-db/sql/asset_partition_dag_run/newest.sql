SELECT id, created_dag_run_id, partition_date
FROM asset_partition_dag_run
WHERE partition_key = ? AND target_dag_id = ?
ORDER BY id DESC
LIMIT 1
