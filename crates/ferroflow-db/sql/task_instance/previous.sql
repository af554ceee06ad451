SELECT
    task_instance.task_id, task_instance.dag_id, task_instance.run_id, dag_run.logical_date,
    task_instance.start_date, task_instance.end_date, task_instance.state, task_instance.try_number,
    task_instance.map_index, task_instance.duration
FROM task_instance JOIN dag_run ON dag_run.dag_id = task_instance.dag_id AND dag_run.run_id = task_instance.run_id
WHERE task_instance.dag_id = ? AND task_instance.task_id = ? AND task_instance.map_index = ?
    AND (? OR dag_run.logical_date < ?)
    AND (? OR task_instance.state = ?)
ORDER BY dag_run.logical_date DESC
LIMIT 1
