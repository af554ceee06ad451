DELETE FROM backfill WHERE dag_id = ?
