DELETE FROM asset_state_store
WHERE NOT EXISTS (
    SELECT 1 FROM asset a
    JOIN asset_active c ON c.name = a.name AND c.uri = a.uri
    WHERE a.id = asset_state_store.asset_id
)
