UPDATE hitl_detail SET chosen_options = ?, params_input = ?, responded_at = ? WHERE ti_id = ? AND responded_at IS NULL
