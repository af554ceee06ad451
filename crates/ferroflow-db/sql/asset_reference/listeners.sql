-- Every DAG that waits for an asset, in whichever way its schedule names it.
SELECT
    d.dag_id, d.timetable_partitioned, r.allow_producer_teams, r.allow_global_producers,
    (SELECT MIN(t.team_name) FROM dag_bundle_team t WHERE t.dag_bundle_name = d.bundle_name) AS team_name
FROM (
    SELECT dag_id FROM dag_schedule_asset_reference WHERE asset_id = ?
    UNION
    SELECT dag_id FROM dag_schedule_asset_name_reference WHERE name = ?
    UNION
    SELECT dag_id FROM dag_schedule_asset_uri_reference WHERE uri = ?
    UNION
    SELECT dag_id FROM dag_schedule_asset_alias_reference WHERE alias_id IN ({few})
) AS listener
JOIN dag d ON d.dag_id = listener.dag_id
LEFT JOIN dag_schedule_asset_reference r ON r.dag_id = d.dag_id AND r.asset_id = ?
WHERE NOT d.is_paused
ORDER BY d.dag_id
