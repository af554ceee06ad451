UPDATE dag SET exceeds_max_non_backfill = ? WHERE dag_id IN ({in}) AND exceeds_max_non_backfill <> ?
