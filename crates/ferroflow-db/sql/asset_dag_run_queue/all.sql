SELECT
    queue.asset_id, queue.target_dag_id, queue.created_at, asset.name, asset.uri,
    COALESCE({text:dag.asset_expression}, 'null') <> 'null' AS has_expression
FROM asset_dag_run_queue AS queue
JOIN dag ON dag.dag_id = queue.target_dag_id
JOIN asset ON asset.id = queue.asset_id
