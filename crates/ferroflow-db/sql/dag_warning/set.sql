INSERT INTO dag_warning (dag_id, warning_type, message, timestamp) VALUES (?, ?, ?, ?)
{upsert:dag_id,warning_type} message = {proposed:message}
