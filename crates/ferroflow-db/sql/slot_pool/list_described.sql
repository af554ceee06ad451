SELECT pool, slots, description, include_deferred, team_name FROM slot_pool ORDER BY id
