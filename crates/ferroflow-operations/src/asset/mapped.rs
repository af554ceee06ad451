//! What a partition of an asset is to a DAG.

use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{Error, Json, Tx};
use ferroflow_model::partition_mapper::MAX_KEY_LENGTH;
use ferroflow_model::stored_dag::{needs_python, timetable_document};
use ferroflow_model::timetable::{PartitionedAsset, Timetable};
use ferroflow_python::timetables::MappedKey;
use jiff::Timestamp;

use super::mappings::{Mappings, Question};
use super::register::{Change, EventRules};

/// What a partition of the asset is to a DAG.
pub(super) struct Mapped {
    pub(super) keys: Vec<String>,
    pub(super) date: Option<Timestamp>,
    pub(super) fingerprint: Json,
    /// How many keys there may be, if the mapper says so.
    most: Option<u32>,
}

/// Why a DAG is not told.
pub(super) enum Untold {
    /// It cannot be: what the audit log says.
    Failed { event: &'static str, extra: String },
    /// Python has to be asked first.
    NotAsked,
}

impl Untold {
    pub(super) fn failed(about: &str, why: &dyn std::fmt::Display) -> Self {
        let extra = format!("{about} cannot be mapped: {why}");
        tracing::error!("{extra}");
        Self::Failed { event: "failed to map partition_key", extra }
    }
}

/// What the audit log calls it.
pub(super) fn about(change: &Change<'_>, source_key: &str, dag_id: &str) -> String {
    let Change { name, uri, .. } = change;
    format!("partition_key '{source_key}' of asset (name='{name}', uri='{uri}') for DAG '{dag_id}'")
}

pub(super) async fn mapped(
    tx: &mut Tx,
    rules: &EventRules,
    change: &Change<'_>,
    mappings: &Mappings,
    source_key: &str,
    dag_id: &str,
) -> Result<Result<Mapped, Untold>, Error> {
    let about = about(change, source_key, dag_id);
    let failed = |why: &dyn std::fmt::Display| Untold::failed(&about, why);
    let stored = match serialized_dag::latest(tx, dag_id).await {
        Ok(Some(stored)) => stored,
        Ok(None) => return Ok(Err(failed(&"the DAG is not stored"))),
        // No task fails to end because of a row of another DAG.
        Err(Error::Column(bad)) => {
            tx.unreadable().note(&bad);
            return Ok(Err(failed(&bad)));
        }
        Err(error) => return Err(error),
    };
    let (timetable, document) = match timetable_of(&stored.data) {
        Ok(found) => found,
        Err(problem) => return Ok(Err(failed(&problem))),
    };
    let found = match &timetable {
        timetable if needs_python(timetable) => {
            let question = Question::new(document, change, source_key);
            let Some(answer) = mappings.answer(question) else { return Ok(Err(Untold::NotAsked)) };
            answer.and_then(|mapped| by_python(mapped, dag_id))
        }
        Timetable::PartitionedAsset(timetable) => by_airflow(timetable, change, source_key),
        _ => Err("the schedule of the DAG does not wait for partitions".to_owned()),
    };
    let mapped = match found {
        Ok(mapped) => mapped,
        Err(problem) => return Ok(Err(failed(&problem))),
    };
    let most = mapped.most.unwrap_or(rules.max_downstream_keys);
    if mapped.keys.len() > usize::try_from(most).unwrap_or(usize::MAX) {
        let source = if mapped.most.is_some() {
            format!("max_downstream_keys={most}")
        } else {
            format!("[scheduler] partition_mapper_max_downstream_keys={most}")
        };
        let number = mapped.keys.len();
        let extra = format!("{about} is for {number} partitions, more than {source}; no run is queued");
        return Ok(Err(Untold::Failed { event: "partition fan-out exceeded", extra }));
    }
    Ok(Ok(mapped))
}

fn by_airflow(timetable: &PartitionedAsset, change: &Change<'_>, key: &str) -> Result<Mapped, String> {
    let mapper = timetable.mapper(change.name, change.uri);
    let keys = mapper.to_downstream(key).map_err(|problem| problem.to_string())?;
    let carries = mapper.carries_partition_date().unwrap_or(false);
    Ok(Mapped {
        keys,
        date: change.partition_date.filter(|_| carries),
        fingerprint: Json::from(timetable.rollup_fingerprint()),
        most: mapper.max_downstream_keys,
    })
}

/// What Python gives may be anything.
fn by_python(mapped: MappedKey, dag_id: &str) -> Result<Mapped, String> {
    let cannot_be = |key: &&String| key.chars().count() > MAX_KEY_LENGTH || key.contains('\0');
    if let Some(key) = mapped.keys.iter().find(cannot_be) {
        let shown: String = key.chars().take(50).collect();
        return Err(format!("{shown:?}… cannot be a key: it is too long, or has a NUL in it"));
    }
    if let Some(problem) = mapped.date_problem {
        tracing::error!(
            dag_id,
            problem,
            "a partition mapper cannot say which date is carried; there is none"
        );
    }
    Ok(Mapped {
        keys: mapped.keys,
        date: mapped.date,
        fingerprint: Json::from(mapped.fingerprint),
        most: mapped.max_downstream_keys,
    })
}

/// The timetable of a serialized DAG, and its document.
fn timetable_of(document: &Json) -> Result<(Timetable, Json), String> {
    let text = timetable_document(document.text()).map_err(|error| error.to_string())?;
    Ok((Timetable::decode(text.text()).map_err(|problems| problems.to_string())?, text))
}
