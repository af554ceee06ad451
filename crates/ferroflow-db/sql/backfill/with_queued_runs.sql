-- There is an index of the queued runs of each DAG.
SELECT DISTINCT q.dag_id, b.id, b.is_paused, b.completed_at, b.max_active_runs
FROM dag_run q
JOIN backfill b ON b.id = q.backfill_id
WHERE q.state = 'queued' AND q.dag_id IN ({in})
