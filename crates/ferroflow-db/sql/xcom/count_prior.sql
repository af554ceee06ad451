SELECT COUNT(*) AS total
FROM xcom JOIN dag_run ON dag_run.id = xcom.dag_run_id
WHERE xcom.dag_id = ? AND xcom.task_id = ?
    AND COALESCE(dag_run.logical_date, dag_run.run_after) <= (
        SELECT COALESCE(asked.logical_date, asked.run_after)
        FROM dag_run AS asked
        WHERE asked.dag_id = xcom.dag_id AND asked.run_id = ?
    )
    AND xcom.{name:key} = ?
