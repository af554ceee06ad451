DELETE FROM slot_pool WHERE pool = ?
