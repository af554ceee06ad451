SELECT dag_id, run_id, task_id, COUNT(*) AS instances
FROM task_instance {use_index:ti_dag_state}
WHERE dag_id IN ({in}) AND state IN ('deferred', 'awaiting_input') AND task_id IN ({in})
GROUP BY dag_id, run_id, task_id
