//! How a DAG stands.

use std::collections::BTreeSet;

use ferroflow_db::asset::{self, registration, triggered_runs};
use ferroflow_db::dag::Dag as DagRow;
use ferroflow_db::{Error as DbError, Tx, import_error};
use ferroflow_model::asset::AssetCondition;
use ferroflow_model::dag::WeightRule;
use ferroflow_model::runs::assets::{AssetKey, missing};
use ferroflow_model::stored_assets::condition_of;
use ferroflow_model::timetable::Timetable;
use ferroflow_model::why::{ActiveRun, DagSituation, Holder, ImportFailure, Schedule};

use super::surroundings::Surroundings;
use crate::Error;
use crate::create_runs::assets::Assets;
use crate::run::Definition;

pub(super) async fn situation<'a>(
    tx: &mut Tx,
    row: &'a DagRow,
    active: &'a [ActiveRun],
    around: &'a Surroundings,
) -> Result<DagSituation<'a>, Error> {
    let (definition, no_definition) = match Definition::latest(tx, &row.dag_id).await {
        Ok(definition) => (Some(definition), None),
        Err(Error::Db(error)) if !matches!(error, DbError::Column(_)) => return Err(error.into()),
        Err(error) => (None, Some(error.to_string())),
    };
    let condition = definition.as_ref().and_then(|definition| definition.dag().timetable.assets());
    // Of a custom timetable, Python has told it when the DAG was stored.
    let told = row.asset_expression.as_ref().and_then(|shown| condition_of(&shown.value().ok()?));
    Ok(DagSituation {
        dag_id: &row.dag_id,
        is_paused: row.is_paused,
        is_stale: row.is_stale,
        import_failure: import_failure(tx, row).await?,
        user_code: definition.as_ref().and_then(user_code),
        no_definition,
        max_active_runs: row.max_active_runs,
        active,
        schedule: match (row.next_dagrun_create_after, condition.or(told.as_ref())) {
            (Some(at), _) => match lacking(row).filter(|_| at <= around.now) {
                Some(part) => Schedule::Incomplete(part),
                None => Schedule::At(at),
            },
            (None, Some(condition)) => of_assets(tx, row, condition).await?,
            (None, None) if row.timetable_periodic || has_schedule(definition.as_ref()) => Schedule::Over,
            (None, None) => Schedule::None,
        },
        schedulers: &around.schedulers,
    })
}

/// What a run cannot be made without, and the row does not have.
fn lacking(row: &DagRow) -> Option<&'static str> {
    match (row.timetable_partitioned, row.next_dagrun) {
        (true, _) => row.next_dagrun_partition_key.is_none().then_some("partition key"),
        (false, None) => Some("logical date"),
        (false, Some(_)) => {
            let interval =
                Option::zip(row.next_dagrun_data_interval_start, row.next_dagrun_data_interval_end);
            interval.is_none().then_some("data interval")
        }
    }
}

/// Whether a schedule makes runs, if only one.
fn has_schedule(definition: Option<&Definition>) -> bool {
    definition.is_some_and(|definition| definition.dag().timetable.can_be_scheduled())
}

/// The custom classes that a scheduler asks before it makes a run.
fn user_code(definition: &Definition) -> Option<String> {
    let dag = definition.dag();
    let mut classes: BTreeSet<String> = BTreeSet::new();
    match &dag.timetable {
        Timetable::PartitionedAsset(partitioned) => {
            classes.extend(partitioned.own_classes().iter().map(|own| format!("mapper {}", own.path())));
        }
        timetable => classes.extend(timetable.custom().map(|own| format!("timetable {}", own.class))),
    }
    classes.extend(dag.tasks().iter().filter_map(|task| match &task.weight_rule {
        WeightRule::Custom(class) => Some(format!("weight rule {class}")),
        _ => None,
    }));
    (!classes.is_empty()).then(|| classes.into_iter().collect::<Vec<_>>().join(", "))
}

async fn import_failure(tx: &mut Tx, row: &DagRow) -> Result<Option<ImportFailure>, DbError> {
    if row.has_import_errors != Some(true) {
        return Ok(None);
    }
    let file = row.relative_fileloc.as_deref();
    let errors = import_error::list(tx).await?;
    let error = errors.iter().find(|error| {
        error.filename.as_deref() == file && error.bundle_name.as_deref() == Some(row.bundle_name.as_str())
    });
    let message = error.and_then(|error| error.stacktrace.as_deref()?.trim_end().lines().next_back());
    Ok(Some(ImportFailure {
        file: file.unwrap_or_default().to_owned(),
        message: message.unwrap_or("what is wrong is not known").to_owned(),
        since: error.and_then(|error| error.timestamp),
    }))
}

async fn of_assets(tx: &mut Tx, row: &DagRow, condition: &AssetCondition) -> Result<Schedule, DbError> {
    let mut queued = triggered_runs::queued(tx).await?;
    queued.retain(|asset| asset.dag_id == row.dag_id);
    let assets = Assets::load(tx, std::iter::once(condition)).await?;
    find_unreadable(tx, condition).await?;
    let there: BTreeSet<AssetKey<'_>> =
        queued.iter().map(|asset| AssetKey { name: &asset.name, uri: &asset.uri }).collect();
    let arrived = |asset: &triggered_runs::QueuedAsset| Holder {
        what: AssetKey { name: &asset.name, uri: &asset.uri }.to_string(),
        state: "changed".to_owned(),
        since: Some(asset.created_at),
    };
    let of = condition.assets().count() + condition.aliases().count() + condition.refs().count();
    Ok(match (missing(condition, &there, &assets.known()), queued.iter().map(|one| one.created_at).max()) {
        (None, Some(newest)) => Schedule::AssetsThere(newest),
        (lacks, _) => Schedule::Assets {
            missing: lacks.map_or_else(|| "any change".to_owned(), |lacks| lacks.to_string()),
            of,
            arrived: queued.iter().map(arrived).collect(),
        },
    })
}

/// Reads who waits for these assets, as a change of one does: a row that cannot be read is told of, because who waits by
/// it is passed over.
async fn find_unreadable(tx: &mut Tx, condition: &AssetCondition) -> Result<(), DbError> {
    for one in condition.assets() {
        if let Some((id, found)) = asset::active_by_name(tx, &one.name).await? {
            registration::listeners(tx, id, (&found.name, &found.uri), &[]).await?;
        }
    }
    Ok(())
}
