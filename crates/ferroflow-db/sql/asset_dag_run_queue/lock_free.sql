SELECT asset_id, target_dag_id
FROM asset_dag_run_queue
WHERE target_dag_id IN ({few})
ORDER BY target_dag_id, asset_id
{lock_skip:asset_dag_run_queue}
