SELECT {columns:dag_run dag_run}{order_keys}
FROM dag_run
{where}
{order}
{page}
