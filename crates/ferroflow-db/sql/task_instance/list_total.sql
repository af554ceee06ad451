SELECT COUNT(*) AS total FROM (SELECT 1 AS present
FROM task_instance
JOIN dag_run ON dag_run.dag_id = task_instance.dag_id AND dag_run.run_id = task_instance.run_id
{where}
{page}) AS listed
