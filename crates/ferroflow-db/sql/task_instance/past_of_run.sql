SELECT task_id, COUNT(*) AS instances,
    COUNT(CASE WHEN state IN ('success', 'skipped') THEN NULL ELSE 1 END) AS unsuccessful
FROM task_instance
WHERE dag_id = ? AND run_id = ?
GROUP BY task_id
