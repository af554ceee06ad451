SELECT dag_run.id, dag_run.state, dag.is_paused, dag.is_stale
FROM dag_run
JOIN dag ON dag.dag_id = dag_run.dag_id
WHERE dag_run.id IN ({in})
