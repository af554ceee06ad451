SELECT id FROM backfill WHERE id = ? AND completed_at IS NULL
{lock_skip:backfill}
