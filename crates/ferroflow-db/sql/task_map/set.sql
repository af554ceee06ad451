INSERT INTO task_map (dag_id, task_id, run_id, map_index, length, {name:keys})
VALUES (?, ?, ?, ?, ?, ?)
{upsert:dag_id,task_id,run_id,map_index} length = {proposed:length}, {name:keys} = {proposed:keys}
