SELECT a.id
FROM asset a
JOIN asset_active x ON x.name = a.name AND x.uri = a.uri
WHERE a.id IN ({in})
    AND EXISTS (
        SELECT 1
        FROM dag_schedule_asset_reference r
        JOIN dag d ON d.dag_id = r.dag_id
        WHERE r.asset_id = a.id AND NOT d.is_stale AND NOT d.is_paused
    )
