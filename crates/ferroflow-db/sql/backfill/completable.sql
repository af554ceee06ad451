-- Two conditions on the state of runs rather than a list: there is an index of those in each.
SELECT b.id
FROM backfill b
WHERE b.completed_at IS NULL
    AND (b.created_at < ? OR EXISTS (SELECT 1 FROM backfill_dag_run x WHERE x.backfill_id = b.id))
    AND NOT EXISTS (SELECT 1 FROM dag_run q WHERE q.backfill_id = b.id AND q.state = 'queued')
    AND NOT EXISTS (SELECT 1 FROM dag_run r WHERE r.backfill_id = b.id AND r.state = 'running')
    AND NOT EXISTS (
        SELECT 1 FROM backfill_dag_run u
        WHERE u.backfill_id = b.id AND u.dag_run_id IS NULL AND u.exception_reason = 'unknown'
    )
ORDER BY b.id
