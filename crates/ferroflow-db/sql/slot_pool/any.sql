SELECT id FROM slot_pool LIMIT 1
