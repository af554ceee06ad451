-- From one DAG to the next along the index: a DAG with ten thousand queued runs costs as much as one with a single run.
-- The row is compared because PostgreSQL, whose index has only queued runs, would else begin at its first entry each time.
WITH RECURSIVE waiting (dag_id) AS (
    SELECT MIN(dag_id) FROM dag_run WHERE state = 'queued'
    UNION ALL
    SELECT (
        SELECT MIN(later.dag_id)
        FROM dag_run AS later
        WHERE later.state = 'queued' AND later.dag_id > waiting.dag_id
            AND (later.state, later.dag_id) > ('queued', waiting.dag_id)
    )
    FROM waiting
    WHERE waiting.dag_id IS NOT NULL
)
SELECT dag_id FROM waiting WHERE dag_id IS NOT NULL
