SELECT responded_at, responded_by, chosen_options, params_input
FROM hitl_detail
WHERE ti_id = ? AND responded_at IS NOT NULL
{lock:hitl_detail}
