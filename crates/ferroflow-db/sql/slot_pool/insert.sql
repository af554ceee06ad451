INSERT INTO slot_pool (pool, slots, description, include_deferred)
VALUES (?, ?, ?, ?)
