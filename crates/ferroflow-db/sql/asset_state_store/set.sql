INSERT INTO asset_state_store (
    asset_id, {name:key}, value, updated_at, last_updated_by_kind, last_updated_by_dag_id, last_updated_by_run_id,
    last_updated_by_task_id, last_updated_by_map_index
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
{upsert:asset_id,key}
    value = {proposed:value}, updated_at = {proposed:updated_at},
    last_updated_by_kind = {proposed:last_updated_by_kind},
    last_updated_by_dag_id = {proposed:last_updated_by_dag_id},
    last_updated_by_run_id = {proposed:last_updated_by_run_id},
    last_updated_by_task_id = {proposed:last_updated_by_task_id},
    last_updated_by_map_index = {proposed:last_updated_by_map_index}
