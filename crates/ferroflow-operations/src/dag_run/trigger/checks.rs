//! Whether a run may be made.

use ferroflow_db::dag;
use ferroflow_model::dag::Dag;
use ferroflow_model::partition_mapper::MAX_KEY_LENGTH;
use ferroflow_model::state::RunType;
use jiff::Timestamp;

use crate::OperationError;

/// The DAG's row, unless it is stale or its file is broken.
pub(crate) fn may_run(dag_id: &str, row: Option<dag::Dag>) -> Result<dag::Dag, OperationError> {
    let row = row
        .filter(|row| !row.is_stale)
        .ok_or_else(|| OperationError::not_found(format!("Dag with dag_id: '{dag_id}' not found")))?;
    if row.has_import_errors == Some(true) {
        let message = format!("Dag with dag_id '{dag_id}' has import errors and cannot be triggered");
        return Err(OperationError::invalid("import_errors", message));
    }
    Ok(row)
}

/// Whether the DAG takes runs of this type, which are called so.
pub(super) fn run_type(row: &dag::Dag, run_type: RunType, called: &str) -> Result<(), OperationError> {
    let Some(allowed) = &row.allowed_run_types else { return Ok(()) };
    let allowed: Vec<String> =
        serde_json::from_str(&allowed.standard_text()).map_err(|error| OperationError::Stored {
            what: format!("allowed_run_types of DAG {:?}", row.dag_id),
            help: "",
            source: error.into(),
        })?;
    if allowed.iter().any(|word| word == run_type.as_str()) {
        return Ok(());
    }
    let message = format!("Dag with dag_id '{}' does not allow {called} runs", row.dag_id);
    Err(OperationError::invalid("denied_run_type", message))
}

/// Whether the date is not before that at which the tasks of the DAG begin by default.
pub(super) fn logical_date(dag: &Dag, date: Option<Timestamp>) -> Result<(), OperationError> {
    let (Some(date), Some(earliest)) = (date, default_start(dag)) else { return Ok(()) };
    if date >= earliest {
        return Ok(());
    }
    let message =
        format!("Logical date [{date}] should be >= start_date [{earliest}] from Dag's default_args");
    Err(OperationError::value_error(message))
}

/// `start_date` of the default arguments, as the serialized DAG holds it: seconds since 1970.
#[expect(clippy::cast_possible_truncation, reason = "microseconds of any date fit")]
fn default_start(dag: &Dag) -> Option<Timestamp> {
    let arguments = dag.default_args.as_ref()?.value().ok()?;
    let arguments = arguments.get("__var").unwrap_or(&arguments);
    let date = arguments.get("start_date")?;
    let seconds = date.get("__var").unwrap_or(date).as_f64()?;
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).ok()
}

/// Whether the DAG has partitions, and the key could be one.
pub(super) fn partition_key(row: &dag::Dag, dag: &Dag, key: Option<&str>) -> Result<(), OperationError> {
    use ferroflow_model::timetable::Timetable;
    let Some(key) = key else { return Ok(()) };
    let at_runtime = matches!(dag.timetable, Timetable::PartitionedAtRuntime);
    if !row.timetable_partitioned && !at_runtime {
        let message =
            format!("Dag '{}' is not a partitioned Dag and does not accept a partition_key.", row.dag_id);
        return Err(OperationError::invalid("not_partitioned", message));
    }
    let length = key.chars().count();
    let problem = if key.trim().is_empty() {
        "partition_key must not be empty or whitespace-only.".to_owned()
    } else if length > MAX_KEY_LENGTH {
        format!("partition_key must be at most {MAX_KEY_LENGTH} characters; got {length}.")
    } else {
        return Ok(());
    };
    Err(OperationError::invalid("invalid_partition_key", problem))
}
