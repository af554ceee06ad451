SELECT id, completed_at FROM backfill WHERE id = ?
{lock:backfill}
