SELECT state FROM dag_run WHERE id = ?
{lock:dag_run}
