SELECT run_after, data_interval_start, data_interval_end, partition_key, partition_date
FROM dag_run
WHERE dag_id = ? AND run_type IN ('scheduled', 'backfill') AND partition_key IS NOT NULL
ORDER BY CASE WHEN partition_date IS NULL THEN 1 ELSE 0 END, partition_date DESC, run_after DESC
LIMIT 1
