SELECT pool, slots, include_deferred, team_name FROM slot_pool ORDER BY pool
