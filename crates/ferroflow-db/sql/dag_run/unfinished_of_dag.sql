SELECT
    run.id, run.dag_id, run.run_id, run.state, run.backfill_id, place.sort_ordinal, run.run_after, run.queued_at,
    run.start_date
FROM dag_run AS run
LEFT JOIN backfill_dag_run AS place ON place.dag_run_id = run.id AND place.backfill_id = run.backfill_id
WHERE run.dag_id = ? AND COALESCE(run.state, '') NOT IN ('success', 'failed')
ORDER BY run.run_after, run.id
