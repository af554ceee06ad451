SELECT MAX(run_after) AS run_after
FROM dag_run
WHERE dag_id = ? AND run_type = 'asset_triggered' AND run_after < ?
