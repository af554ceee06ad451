-- What was noted before the try last ran does not count.
SELECT COUNT(*) AS total
FROM log l
WHERE l.dag_id = ? AND l.task_id = ? AND l.run_id = ? AND l.map_index = ? AND l.try_number = ? AND l.event = ?
    AND NOT EXISTS (
        SELECT 1 FROM log r
        WHERE r.dag_id = l.dag_id AND r.task_id = l.task_id AND r.run_id = l.run_id AND r.map_index = l.map_index
            AND r.try_number = l.try_number AND r.event = 'running' AND r.dttm >= l.dttm
    )
