-- A page of those that have no run yet, the oldest first.
SELECT
    pending.id, pending.target_dag_id, pending.partition_key, pending.partition_date, pending.created_at,
    pending.rollup_fingerprint
FROM asset_partition_dag_run AS pending
JOIN dag ON dag.dag_id = pending.target_dag_id
WHERE pending.created_dag_run_id IS NULL AND NOT dag.is_stale AND pending.id > ?
ORDER BY pending.id
LIMIT ?
