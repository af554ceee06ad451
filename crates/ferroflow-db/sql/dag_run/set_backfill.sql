UPDATE dag_run SET backfill_id = ?, run_type = 'backfill', triggered_by = 'BACKFILL', updated_at = ? WHERE id = ?
