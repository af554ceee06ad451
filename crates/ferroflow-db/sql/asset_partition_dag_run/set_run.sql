UPDATE asset_partition_dag_run
SET created_dag_run_id = ?, updated_at = ?
WHERE id = ? AND created_dag_run_id IS NULL
