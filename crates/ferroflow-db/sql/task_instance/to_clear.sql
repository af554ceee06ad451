SELECT task_instance.id, task_instance.run_id, task_instance.task_id, task_instance.map_index, task_instance.state
FROM task_instance
JOIN dag_run ON dag_run.dag_id = task_instance.dag_id AND dag_run.run_id = task_instance.run_id
{where}
{order}
