SELECT xcom.value
FROM xcom JOIN dag_run ON dag_run.id = xcom.dag_run_id
WHERE xcom.dag_id = ? AND xcom.task_id = ?
    AND COALESCE(dag_run.logical_date, dag_run.run_after) <= (
        SELECT COALESCE(asked.logical_date, asked.run_after)
        FROM dag_run AS asked
        WHERE asked.dag_id = xcom.dag_id AND asked.run_id = ?
    )
    AND xcom.{name:key} = ? AND xcom.map_index = ?
ORDER BY dag_run.logical_date DESC, xcom.{name:timestamp} DESC
LIMIT 1
