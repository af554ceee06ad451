SELECT DISTINCT task_instance.task_id
FROM task_instance JOIN dag_run ON dag_run.dag_id = task_instance.dag_id AND dag_run.run_id = task_instance.run_id
WHERE task_instance.dag_id = ? AND dag_run.logical_date < ? AND task_instance.task_id IN ({in})
