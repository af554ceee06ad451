SELECT id, deadline_time, dagrun_id, callback_id
FROM deadline
WHERE missed = ? AND deadline_time < ?
ORDER BY deadline_time, id
LIMIT ? OFFSET ?
{lock_skip:deadline}
