SELECT id, dag_id, run_id
FROM dag_run
WHERE (dag_id, run_id) IN ({values}{rows:2})
