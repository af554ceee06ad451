UPDATE backfill SET completed_at = ?, updated_at = ?
WHERE id = ? AND completed_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM dag_run q WHERE q.backfill_id = backfill.id AND q.state = 'queued')
    AND NOT EXISTS (SELECT 1 FROM dag_run r WHERE r.backfill_id = backfill.id AND r.state = 'running')
    AND NOT EXISTS (
        SELECT 1 FROM backfill_dag_run u
        WHERE u.backfill_id = backfill.id AND u.dag_run_id IS NULL AND u.exception_reason = 'unknown'
    )
