SELECT b.id, b.dag_id
FROM backfill b
WHERE b.completed_at IS NULL AND b.updated_at < ?
    AND EXISTS (
        SELECT 1 FROM backfill_dag_run u
        WHERE u.backfill_id = b.id AND u.dag_run_id IS NULL AND u.exception_reason = 'unknown'
    )
ORDER BY b.id
