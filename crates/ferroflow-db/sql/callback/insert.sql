INSERT INTO callback (
    id, type, fetch_method, data, bundle_name, state, output, priority_weight, created_at, trigger_id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
