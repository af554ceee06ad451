INSERT INTO dag_run_note (dag_run_id, user_id, content, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
