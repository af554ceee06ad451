-- The first of each queue: as many as may run at once, and one more, which can tell why it waits; and so many more as
-- may be passed over.
SELECT
    waiting.id, waiting.dag_id, waiting.run_id, waiting.backfill_id, waiting.sort_ordinal, waiting.run_after,
    waiting.run_type, waiting.triggered_by, waiting.clear_number, waiting.bundle_version,
    waiting.created_dag_version_id
FROM (
    SELECT
        queued.id, queued.dag_id, queued.run_id, queued.backfill_id, place.sort_ordinal, queued.run_after,
        queued.run_type, queued.triggered_by, queued.clear_number, queued.bundle_version,
        queued.created_dag_version_id, COALESCE(backfill.max_active_runs, dag.max_active_runs, 0) AS most,
        ROW_NUMBER() OVER (
            PARTITION BY queued.dag_id, queued.backfill_id
            ORDER BY place.sort_ordinal, queued.run_after, queued.run_id
        ) AS turn
    FROM dag_run AS queued
    JOIN dag ON dag.dag_id = queued.dag_id
    LEFT JOIN backfill ON backfill.id = queued.backfill_id
    LEFT JOIN backfill_dag_run AS place
        ON place.dag_run_id = queued.id AND place.backfill_id = queued.backfill_id
    WHERE queued.dag_id IN ({in}) AND queued.state = 'queued' AND queued.run_after <= ?
) AS waiting
WHERE waiting.turn - 1 - ? <= waiting.most AND waiting.turn <= ?
