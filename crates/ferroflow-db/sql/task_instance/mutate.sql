UPDATE task_instance
SET max_tries = ?, pool = ?, pool_slots = ?, queue = ?, priority_weight = ?, operator = ?, custom_operator_name = ?,
    executor = ?, executor_config = ?, updated_at = ?
WHERE id = ?
