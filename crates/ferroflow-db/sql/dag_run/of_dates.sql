SELECT dag_id, run_id, logical_date, run_after, data_interval_start, data_interval_end, partition_key, partition_date
FROM dag_run
WHERE (dag_id, logical_date) IN ({values}{rows:2})
