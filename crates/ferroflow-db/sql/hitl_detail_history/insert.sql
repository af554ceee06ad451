INSERT INTO hitl_detail_history (
    ti_history_id, options, subject, body, defaults, multiple, params, assignees, created_at, responded_at,
    responded_by, chosen_options, params_input
)
SELECT
    ti_id, options, subject, body, COALESCE(defaults, 'null'), multiple, params, COALESCE(assignees, 'null'),
    created_at, responded_at, COALESCE(responded_by, 'null'), COALESCE(chosen_options, 'null'), params_input
FROM hitl_detail
WHERE ti_id = ?
