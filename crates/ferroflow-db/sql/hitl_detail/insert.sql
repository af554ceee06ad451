INSERT INTO hitl_detail (
    ti_id, options, subject, {name:body}, defaults, multiple, params, assignees, created_at, responded_at,
    responded_by, chosen_options, params_input
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, ?)
