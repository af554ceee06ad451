DELETE FROM asset_dag_run_queue WHERE (asset_id, target_dag_id) IN ({values}{rows:2})
