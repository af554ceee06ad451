SELECT pool, slots, include_deferred, team_name
FROM slot_pool
{where_no_other_queues}
ORDER BY id
{lock_nowait}
