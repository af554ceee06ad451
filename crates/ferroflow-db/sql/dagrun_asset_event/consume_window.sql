-- In two halves, each of which has an index to go by.
INSERT INTO dagrun_asset_event (dag_run_id, event_id)
SELECT ?, consumed.id
FROM (
    SELECT event.id
    FROM asset_event AS event
    WHERE event.asset_id IN (SELECT awaited.asset_id FROM dag_schedule_asset_reference AS awaited WHERE awaited.dag_id = ?)
        AND event.timestamp <= ? AND (? OR event.timestamp > ?)
    UNION
    SELECT event.id
    FROM dag_schedule_asset_alias_reference AS awaited
    JOIN asset_alias_asset_event AS emitted ON emitted.alias_id = awaited.alias_id
    JOIN asset_event AS event ON event.id = emitted.event_id
    WHERE awaited.dag_id = ? AND event.timestamp <= ? AND (? OR event.timestamp > ?)
) AS consumed
