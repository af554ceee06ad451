UPDATE dag
SET next_dagrun = ?, next_dagrun_data_interval_start = ?, next_dagrun_data_interval_end = ?,
    next_dagrun_partition_key = ?, next_dagrun_partition_date = ?, next_dagrun_create_after = ?
WHERE dag_id IN ({in})
