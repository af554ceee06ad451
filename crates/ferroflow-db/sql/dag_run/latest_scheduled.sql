SELECT run_after, data_interval_start, data_interval_end, partition_key, partition_date
FROM dag_run
WHERE dag_id = ? AND run_type IN ('scheduled', 'backfill') AND logical_date IS NOT NULL
ORDER BY logical_date DESC
LIMIT 1
