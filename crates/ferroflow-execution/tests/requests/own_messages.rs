//! What a task says of its own instance, and asks about it.

use serde_json::{Value, json};

use crate::seed::instance_id;
use crate::seed_assets::asking;

pub(crate) fn all() -> Vec<Value> {
    let (own, other) = (asking().to_string(), instance_id(2, 0).to_string());
    vec![
        json!({"type": "SetRenderedFields", "rendered_fields": {"b": "x", "a": [1, null]}}),
        json!({"type": "SetRenderedFields", "rendered_fields": "no map"}),
        json!({"type": "SetRenderedMapIndex", "rendered_map_index": "label"}),
        json!({"type": "SetRenderedMapIndex", "rendered_map_index": ""}),
        json!({"type": "ValidateInletsAndOutlets", "ti_id": own}),
        json!({"type": "ValidateInletsAndOutlets", "ti_id": other}),
        json!({"type": "GetTaskBreadcrumbs", "dag_id": "dag", "run_id": "run 1"}),
        json!({"type": "GetTaskBreadcrumbs", "dag_id": "dag", "run_id": "no run"}),
        json!({"type": "GetTaskRescheduleStartDate", "ti_id": own}),
        json!({"type": "GetTaskRescheduleStartDate", "ti_id": other, "try_number": 2}),
        json!({"type": "SkipDownstreamTasks", "tasks": ["group.inner", ["mapped", 1]]}),
        json!({"type": "SkipDownstreamTasks", "tasks": ["group.inner"], "unknown": 1}),
        json!({"type": "SkipDownstreamTasks", "tasks": []}),
    ]
}
