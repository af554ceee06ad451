-- The run before the next one, by the index of logical dates: the history of a DAG is not read.
SELECT
    dag.dag_id,
    (
        SELECT earlier.created_at
        FROM dag_run AS earlier
        WHERE earlier.dag_id = dag.dag_id AND earlier.logical_date < dag.next_dagrun
        ORDER BY earlier.logical_date DESC
        LIMIT 1
    ) AS made_at
FROM dag
WHERE dag.dag_id IN ({in})
