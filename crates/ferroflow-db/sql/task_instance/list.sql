SELECT {columns:task_instance task_instance}{order_keys}
FROM task_instance
JOIN dag_run ON dag_run.dag_id = task_instance.dag_id AND dag_run.run_id = task_instance.run_id
{where}
{order}
{page}
