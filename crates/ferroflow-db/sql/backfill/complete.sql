UPDATE backfill SET completed_at = ?, updated_at = ?
WHERE id = ? AND completed_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM dag_run q WHERE q.backfill_id = backfill.id AND q.state = 'queued')
    AND NOT EXISTS (SELECT 1 FROM dag_run r WHERE r.backfill_id = backfill.id AND r.state = 'running')
