SELECT {columns:dag dag}{order_keys}
FROM dag
{where}
{order}
{page}
