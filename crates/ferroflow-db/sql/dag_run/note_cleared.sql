UPDATE dag_run
SET clear_number = clear_number + 1, queued_at = ?, context_carrier = ?, created_dag_version_id = ?, bundle_version = ?,
    updated_at = ?
WHERE id = ? AND state = ?
