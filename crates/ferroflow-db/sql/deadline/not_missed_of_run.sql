SELECT deadline.id, deadline.deadline_time, run.queued_at, alert.reference, alert.{name:interval}, alert.callback_def
FROM deadline
JOIN dag_run AS run ON run.id = deadline.dagrun_id
JOIN deadline_alert AS alert ON alert.id = deadline.deadline_alert_id
WHERE deadline.dagrun_id = ? AND deadline.missed = ?
ORDER BY deadline.id
