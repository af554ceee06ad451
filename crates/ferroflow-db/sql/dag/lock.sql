-- In the order of their ids, as all transactions do that lock several.
SELECT dag_id
FROM dag
WHERE dag_id IN ({few})
ORDER BY dag_id
{lock:dag}
