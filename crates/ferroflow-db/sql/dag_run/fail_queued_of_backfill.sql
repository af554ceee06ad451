UPDATE dag_run SET state = 'failed', updated_at = ? WHERE backfill_id = ? AND state = 'queued'
