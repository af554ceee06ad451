INSERT INTO slot_pool (pool, slots, description, include_deferred, team_name)
VALUES (?, ?, ?, ?, ?)
{upsert:pool} slots = {proposed:slots}, description = {proposed:description},
    include_deferred = {proposed:include_deferred}, team_name = {proposed:team_name}
