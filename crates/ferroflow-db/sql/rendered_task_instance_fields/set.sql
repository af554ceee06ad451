INSERT INTO rendered_task_instance_fields (dag_id, task_id, run_id, map_index, rendered_fields, k8s_pod_yaml)
VALUES (?, ?, ?, ?, ?, 'null')
{upsert:dag_id,task_id,run_id,map_index} rendered_fields = {proposed:rendered_fields}, k8s_pod_yaml = 'null'
