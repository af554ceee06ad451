//! What lists of runs may be filtered and ordered by.

use crate::list::field::{Field, Fields};
use crate::list::value::Kind;

pub(super) const FIELDS: Fields = Fields {
    key: "id",
    all: &[
        Field::new("id", &["dag_run.id"], Kind::Int).ordered(),
        Field::new("dag_id", &["dag_run.dag_id"], Kind::Text).ordered(),
        Field::new("run_id", &["dag_run.run_id"], Kind::Text).ordered(),
        // As REST clients call it.
        Field::new("dag_run_id", &["dag_run.run_id"], Kind::Text).ordered(),
        Field::new("state", &["dag_run.state"], Kind::Text).ordered(),
        Field::new("run_type", &["dag_run.run_type"], Kind::Text),
        Field::new("logical_date", &["dag_run.logical_date"], Kind::Time).ordered(),
        Field::new("partition_date", &["dag_run.partition_date"], Kind::Time).ordered(),
        Field::new("partition_key", &["dag_run.partition_key"], Kind::Text),
        Field::new("run_after", &["dag_run.run_after"], Kind::Time).ordered(),
        Field::new("start_date", &["dag_run.start_date"], Kind::Time).ordered().open(),
        Field::new("end_date", &["dag_run.end_date"], Kind::Time).ordered().open(),
        Field::new("updated_at", &["dag_run.updated_at"], Kind::Time).ordered(),
        Field::new("duration", &["{seconds:dag_run.start_date,dag_run.end_date}"], Kind::Float).ordered(),
        Field::new("conf", &["{text:dag_run.conf}"], Kind::Text).ordered(),
        Field::new("bundle_version", &["dag_run.bundle_version"], Kind::Text),
        Field::new("triggering_user_name", &["dag_run.triggering_user_name"], Kind::Text),
        Field::new("dag_version", &["dag_version.version_number"], Kind::Int).within(
            "EXISTS (SELECT 1 FROM dag_version WHERE dag_version.id = dag_run.created_dag_version_id AND {condition})",
        ),
        Field::new("consuming_asset", &["asset.name", "asset.uri"], Kind::Text).within(
            "EXISTS (SELECT 1 FROM dagrun_asset_event consumed
        JOIN asset_event ON asset_event.id = consumed.event_id
        JOIN asset ON asset.id = asset_event.asset_id
        WHERE consumed.dag_run_id = dag_run.id AND {condition})",
        ),
    ],
};
