DELETE FROM asset_dag_run_queue WHERE asset_id = ? AND target_dag_id = ?
