SELECT ti_id, options, subject, {name:body}, defaults, multiple, params, assignees, responded_at
FROM hitl_detail
WHERE ti_id = ?
