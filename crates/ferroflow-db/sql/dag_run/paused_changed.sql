SELECT r.id, r.dag_id, r.run_id
FROM dag_run r
JOIN dag d ON d.dag_id = r.dag_id
WHERE r.state = 'running' AND d.is_paused = ? AND r.id > ?
    AND r.last_scheduling_decision <= (
        SELECT MAX(ti.updated_at) FROM task_instance ti WHERE ti.dag_id = r.dag_id AND ti.run_id = r.run_id
    )
ORDER BY r.id
LIMIT ?
