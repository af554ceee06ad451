UPDATE hitl_detail
SET responded_at = NULL, responded_by = ?, chosen_options = ?, params_input = ?
WHERE ti_id = ? AND responded_at IS NOT NULL
