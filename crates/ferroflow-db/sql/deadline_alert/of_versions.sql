SELECT document.dag_version_id, alert.id, alert.reference, alert.{name:interval}, alert.callback_def
FROM deadline_alert AS alert
JOIN serialized_dag AS document ON document.id = alert.serialized_dag_id
WHERE document.dag_version_id IN ({few})
ORDER BY alert.id
