INSERT INTO task_state_store (
    dag_run_id, task_id, map_index, {name:key}, dag_id, run_id, value, updated_at, expires_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
{upsert:dag_run_id,task_id,map_index,key}
    value = {proposed:value}, updated_at = {proposed:updated_at}, expires_at = {proposed:expires_at}
