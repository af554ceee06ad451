-- The scheduler that makes a run of what is queued uses the events until then. So the date is that of the last one, and the row is
-- locked: an event that comes while the row is being used waits, and is queued anew.
INSERT INTO asset_dag_run_queue (asset_id, target_dag_id, created_at) VALUES (?, ?, ?)
{upsert:asset_id,target_dag_id} created_at = CASE
    WHEN {proposed:created_at} > asset_dag_run_queue.created_at THEN {proposed:created_at}
    ELSE asset_dag_run_queue.created_at
END
