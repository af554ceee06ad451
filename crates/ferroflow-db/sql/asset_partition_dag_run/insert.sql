INSERT INTO asset_partition_dag_run (
    target_dag_id, created_dag_run_id, partition_key, partition_date, rollup_fingerprint, created_at, updated_at
) VALUES (?, NULL, ?, ?, ?, ?, ?)
{returning:id}
