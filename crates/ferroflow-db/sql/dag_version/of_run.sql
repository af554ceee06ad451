SELECT v.id, v.version_number, v.dag_id, v.bundle_name, v.bundle_version, v.created_at
FROM dag_version v
WHERE v.id IN (
    SELECT ti.dag_version_id FROM task_instance ti WHERE ti.dag_id = ? AND ti.run_id = ?
    UNION
    SELECT h.dag_version_id FROM task_instance_history h WHERE h.dag_id = ? AND h.run_id = ?
)
