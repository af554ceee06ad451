SELECT task_reschedule.ti_id, task_reschedule.reschedule_date
FROM task_reschedule JOIN task_instance ON task_instance.id = task_reschedule.ti_id
WHERE task_instance.dag_id = ? AND task_instance.run_id = ? AND (? OR task_instance.task_id IN ({in}))
    AND (task_instance.state IS NULL OR task_instance.state = 'up_for_reschedule')
    AND task_reschedule.id = (SELECT MAX(later.id) FROM task_reschedule later WHERE later.ti_id = task_reschedule.ti_id)
