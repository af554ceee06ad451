-- An asset is claimed if one of its name or of its URI is active, be it this one or another.
SELECT
    a.id, a.name, a.uri, a.{name:group}, a.extra,
    EXISTS (SELECT 1 FROM asset_active x WHERE x.name = a.name)
        OR EXISTS (SELECT 1 FROM asset_active x WHERE x.uri = a.uri) AS is_claimed,
    EXISTS (SELECT 1 FROM asset_watcher w WHERE w.asset_id = a.id) AS is_watched
FROM asset a
WHERE a.name IN ({in})
