SELECT task_reschedule.ti_id, task_reschedule.reschedule_date
FROM dag_run
JOIN task_instance AS ti ON ti.dag_id = dag_run.dag_id AND ti.run_id = dag_run.run_id
JOIN task_reschedule ON task_reschedule.ti_id = ti.id
WHERE dag_run.id IN ({in}) AND (ti.state IS NULL OR ti.state = 'up_for_reschedule')
    AND task_reschedule.id = (SELECT MAX(later.id) FROM task_reschedule later WHERE later.ti_id = task_reschedule.ti_id)
