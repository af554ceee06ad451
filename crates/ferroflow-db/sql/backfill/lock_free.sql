SELECT id, is_paused, completed_at, max_active_runs
FROM backfill
WHERE id IN ({few})
ORDER BY id
{lock_skip:backfill}
