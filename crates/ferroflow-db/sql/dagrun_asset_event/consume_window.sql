-- In two halves, each of which has an index to go by. An event that is dated before the run before, because a clock was
-- behind, belongs to no run until now.
INSERT INTO dagrun_asset_event (dag_run_id, event_id)
SELECT ?, waiting.id
FROM (
    SELECT event.id
    FROM dag_schedule_asset_reference AS awaited
    JOIN asset_event AS event ON event.asset_id = awaited.asset_id
    WHERE awaited.dag_id = ? AND event.timestamp <= ? AND (? OR event.timestamp > ?)
        AND (? OR event.timestamp > ? OR event.timestamp > awaited.created_at)
    UNION
    SELECT event.id
    FROM dag_schedule_asset_alias_reference AS awaited
    JOIN asset_alias_asset_event AS emitted ON emitted.alias_id = awaited.alias_id
    JOIN asset_event AS event ON event.id = emitted.event_id
    WHERE awaited.dag_id = ? AND event.timestamp <= ? AND (? OR event.timestamp > ?)
        AND (? OR event.timestamp > ? OR event.timestamp > awaited.created_at)
) AS waiting
WHERE NOT EXISTS (
    SELECT 1
    FROM dagrun_asset_event AS consumed
    JOIN dag_run AS consumer ON consumer.id = consumed.dag_run_id
    WHERE consumed.event_id = waiting.id AND consumer.dag_id = ?
)
