//! What lists of DAGs may be filtered and ordered by.

use crate::list::field::{Field, Fields};
use crate::list::value::Kind;

const WITHIN_LATEST_RUN: &str = "EXISTS (SELECT 1 FROM dag_run latest
        WHERE latest.id = (SELECT MAX(id) FROM dag_run WHERE dag_run.dag_id = dag.dag_id) AND {condition})";

pub(super) const FIELDS: Fields = Fields {
    key: "dag_id",
    all: &[
        Field::new("dag_id", &["dag.dag_id"], Kind::Text).ordered(),
        Field::new("dag_display_name", &["dag.dag_display_name"], Kind::Text).ordered(),
        Field::new("next_dagrun", &["dag.next_dagrun"], Kind::Time).ordered(),
        Field::new("is_paused", &["dag.is_paused"], Kind::Bool),
        Field::new("is_stale", &["dag.is_stale"], Kind::Bool),
        Field::new("has_import_errors", &["dag.has_import_errors"], Kind::Bool),
        Field::new("bundle_name", &["dag.bundle_name"], Kind::Text),
        Field::new("bundle_version", &["dag.bundle_version"], Kind::Text),
        Field::new("timetable_type", &["dag.timetable_type"], Kind::Text),
        Field::new("owners", &["dag.owners"], Kind::Text),
        Field::new(
            "is_serialized",
            &["(EXISTS (SELECT 1 FROM serialized_dag WHERE serialized_dag.dag_id = dag.dag_id))"],
            Kind::Bool,
        ),
        // DAGs have several of each of these: one filter for each asks for all of them.
        Field::new("tags", &["dag_tag.name"], Kind::Text)
            .within("EXISTS (SELECT 1 FROM dag_tag WHERE dag_tag.dag_id = dag.dag_id AND {condition})"),
        Field::new("favorite_of", &["dag_favorite.user_id"], Kind::Text).within(
            "EXISTS (SELECT 1 FROM dag_favorite WHERE dag_favorite.dag_id = dag.dag_id AND {condition})",
        ),
        Field::new("asset_dependency", &["asset.name", "asset.uri"], Kind::Text).within(
            "EXISTS (SELECT 1 FROM dag_schedule_asset_reference awaited
        JOIN asset ON asset.id = awaited.asset_id WHERE awaited.dag_id = dag.dag_id AND {condition})",
        ),
        Field::new(
            "has_asset_schedule",
            &[
                "(EXISTS (SELECT 1 FROM dag_schedule_asset_reference awaited WHERE awaited.dag_id = dag.dag_id))",
            ],
            Kind::Bool,
        ),
        Field::new(
            "has_pending_actions",
            &["(EXISTS (SELECT 1 FROM hitl_detail JOIN task_instance ON task_instance.id = hitl_detail.ti_id
        WHERE task_instance.dag_id = dag.dag_id AND hitl_detail.responded_at IS NULL
            AND task_instance.state IN ('deferred', 'awaiting_input')))"],
            Kind::Bool,
        ),
        Field::new("any_run_state", &["any_run.state"], Kind::Text).within(
            "EXISTS (SELECT 1 FROM dag_run any_run WHERE any_run.dag_id = dag.dag_id AND {condition})",
        ),
        Field::new(
            "last_run_state",
            &["(SELECT latest.state FROM dag_run latest
        WHERE latest.id = (SELECT MAX(id) FROM dag_run WHERE dag_run.dag_id = dag.dag_id))"],
            Kind::Text,
        )
        .ordered(),
        Field::new(
            "last_run_start_date",
            &["(SELECT latest.start_date FROM dag_run latest
        WHERE latest.id = (SELECT MAX(id) FROM dag_run WHERE dag_run.dag_id = dag.dag_id))"],
            Kind::Time,
        )
        .ordered(),
        // Not as the one before: a DAG without runs has none that is still to start.
        Field::new("last_run_start", &["latest.start_date"], Kind::Time).open().within(WITHIN_LATEST_RUN),
        Field::new("last_run_end", &["latest.end_date"], Kind::Time).open().within(WITHIN_LATEST_RUN),
    ],
};
