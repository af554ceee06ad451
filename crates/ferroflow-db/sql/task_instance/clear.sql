UPDATE task_instance
SET id = ?, state = NULL, max_tries = ?, external_executor_id = NULL, next_method = NULL,
    next_kwargs = CASE WHEN next_kwargs IS NULL THEN next_kwargs ELSE 'null' END,
    pool = ?, pool_slots = ?, queue = ?, priority_weight = ?, operator = ?, custom_operator_name = ?, executor = ?,
    executor_config = ?, context_carrier = ?, dag_version_id = ?, updated_at = ?
WHERE id = ? AND (state = ? OR (state IS NULL AND ? IS NULL))
