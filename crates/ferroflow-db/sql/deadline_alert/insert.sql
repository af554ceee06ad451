INSERT INTO deadline_alert (id, created_at, serialized_dag_id, name, reference, {name:interval}, callback_def)
VALUES (?, ?, ?, ?, ?, ?, ?)
