//! What lists of task instances may be filtered and ordered by.

use crate::list::field::{Field, Fields};
use crate::list::value::Kind;

/// What people see of an instance of a mapped task: its rendered name, or its number.
const SHOWN_INDEX: &str = "COALESCE(task_instance.rendered_map_index, \
    CASE WHEN task_instance.map_index >= 0 THEN {text:task_instance.map_index} END)";

pub(super) const FIELDS: Fields = Fields {
    key: "id",
    all: &[
        Field::new("id", &["task_instance.id"], Kind::Uuid).ordered(),
        Field::new("dag_id", &["task_instance.dag_id"], Kind::Text),
        Field::new("run_id", &["task_instance.run_id"], Kind::Text).ordered(),
        Field::new("task_id", &["task_instance.task_id"], Kind::Text).ordered(),
        Field::new("map_index", &["task_instance.map_index"], Kind::Int).ordered(),
        Field::new("state", &["task_instance.state"], Kind::Text).ordered(),
        Field::new("try_number", &["task_instance.try_number"], Kind::Int).ordered(),
        Field::new("duration", &["task_instance.duration"], Kind::Float).ordered(),
        Field::new("start_date", &["task_instance.start_date"], Kind::Time).ordered().open(),
        Field::new("end_date", &["task_instance.end_date"], Kind::Time).ordered().open(),
        Field::new("updated_at", &["task_instance.updated_at"], Kind::Time),
        Field::new("pool", &["task_instance.pool"], Kind::Text),
        Field::new("queue", &["task_instance.queue"], Kind::Text),
        Field::new("executor", &["task_instance.executor"], Kind::Text),
        Field::new("operator", &["task_instance.operator"], Kind::Text).ordered(),
        Field::new("operator_name", &["task_instance.custom_operator_name"], Kind::Text),
        Field::new(
            "task_display_name",
            &["COALESCE(task_instance.task_display_name, task_instance.task_id)"],
            Kind::Text,
        ),
        Field::new("shown_map_index", &[SHOWN_INDEX], Kind::Text),
        Field::new("rendered_map_index", &["task_instance.rendered_map_index"], Kind::Text)
            .ordered()
            .then("map_index"),
        Field::new("logical_date", &["dag_run.logical_date"], Kind::Time).ordered(),
        Field::new("run_after", &["dag_run.run_after"], Kind::Time).ordered(),
        Field::new("data_interval_start", &["dag_run.data_interval_start"], Kind::Time).ordered(),
        Field::new("data_interval_end", &["dag_run.data_interval_end"], Kind::Time).ordered(),
        Field::new("dag_version", &["dag_version.version_number"], Kind::Int).within(
            "EXISTS (SELECT 1 FROM dag_version WHERE dag_version.id = task_instance.dag_version_id AND {condition})",
        ),
    ],
};
