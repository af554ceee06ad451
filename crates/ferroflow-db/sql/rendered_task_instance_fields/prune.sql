DELETE FROM rendered_task_instance_fields
WHERE dag_id = ? AND task_id = ? AND run_id NOT IN (
    SELECT newest.run_id FROM (SELECT run_id FROM dag_run WHERE dag_id = ? ORDER BY run_after DESC LIMIT ?) AS newest
)
