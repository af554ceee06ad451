SELECT id FROM slot_pool WHERE pool = ?
