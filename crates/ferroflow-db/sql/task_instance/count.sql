SELECT COUNT(*) AS total
FROM task_instance JOIN dag_run ON dag_run.dag_id = task_instance.dag_id AND dag_run.run_id = task_instance.run_id
WHERE task_instance.dag_id = ?
    AND (? OR task_instance.map_index = ?)
    AND (? OR task_instance.task_id IN ({few}))
    AND (? OR task_instance.run_id IN ({few}))
    AND (? OR dag_run.logical_date IN ({few}))
    AND (? OR task_instance.state IN ({few}) OR (? AND task_instance.state IS NULL))
