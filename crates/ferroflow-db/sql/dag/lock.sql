-- In the order of their ids, as everybody locks them who locks several.
SELECT dag_id
FROM dag
WHERE dag_id IN ({few})
ORDER BY dag_id
{lock:dag}
