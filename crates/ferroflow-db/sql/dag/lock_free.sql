-- In the order of their ids, as all transactions do that lock several.
SELECT {columns:dag_scheduling}
FROM dag
WHERE dag_id IN ({few})
ORDER BY dag_id
{lock_skip:dag}
