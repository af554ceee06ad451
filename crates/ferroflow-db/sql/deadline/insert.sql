INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id, deadline_alert_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
