UPDATE asset_partition_dag_run SET partition_date = ?, updated_at = ? WHERE id = ?
