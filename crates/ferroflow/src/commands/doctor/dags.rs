//! DAGs in the database: whether they can be read, and what they ask for.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use ferroflow_config::Settings;
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{Db, ScopedFutureExt as _, dag, deadline, pool};
use ferroflow_executor::{executor_names, is_available};
use ferroflow_model::dag::{Dag, Deadline, DeadlineAlert, Demand};
use uuid::Uuid;

use super::finding::{Finding, Topic};

/// How many DAGs are read at a time: documents are long.
const BATCH: usize = 100;
/// How many DAGs a finding names.
const NAMED: usize = 5;

/// What was found in all of them.
#[derive(Default)]
struct Seen {
    dags: usize,
    /// Those that cannot be read, with the reason.
    unreadable: Vec<(String, String)>,
    /// Who asks for what.
    demands: BTreeMap<Demand, Vec<String>>,
    /// The pools that there are.
    pools: BTreeSet<String>,
    /// Pools that there are not, and the DAGs whose tasks would wait for a slot of them.
    missing_pools: BTreeMap<String, Vec<String>>,
}

pub(super) async fn examine(db: &Db, settings: &Settings) -> Result<Topic> {
    let active = db.read(|tx| async move { dag::active(tx).await }.scope_boxed()).await?;
    let names: Vec<String> = active.into_iter().map(|dag| dag.dag_id).collect();
    let pools = db.read(|tx| async move { pool::list(tx).await }.scope_boxed()).await?;
    let pools = pools.into_iter().map(|pool| pool.name).collect();
    let mut seen = Seen { pools, ..Seen::default() };
    for names in names.chunks(BATCH) {
        look(db, names, &mut seen).await?;
    }
    Ok(Topic::new("DAGs", findings(&seen, settings)))
}

async fn look(db: &Db, names: &[String], seen: &mut Seen) -> Result<()> {
    let documents = db.read(|tx| {
        async move {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let versions = serialized_dag::latest_hashes(tx, &names).await?;
            let versions: Vec<_> = versions.values().map(|(version, _)| *version).collect();
            serialized_dag::find_many(tx, &versions).await
        }
        .scope_boxed()
    });
    let mut stored = Vec::new();
    for (version, document) in documents.await? {
        seen.dags += 1;
        let document = match document {
            Ok(document) => document,
            Err(error) => {
                seen.unreadable.push((format!("version {version}"), error.to_string()));
                continue;
            }
        };
        let dag_id = document.dag_id;
        match Dag::decode(document.data.text()) {
            Err(problems) => seen.unreadable.push((dag_id, problems.to_string())),
            Ok(dag) => {
                let ids = dag.deadlines.iter().filter_map(|deadline| match deadline {
                    Deadline::Stored(id) => Some((*id, dag_id.clone())),
                    Deadline::Inline(_) => None,
                });
                stored.extend(ids);
                seen.note(dag.demands(), &dag_id);
                seen.note_missing_pools(&dag, &dag_id);
            }
        }
    }
    look_at_deadlines(db, &stored, seen).await
}

async fn look_at_deadlines(db: &Db, stored: &[(Uuid, String)], seen: &mut Seen) -> Result<()> {
    let ids: Vec<Uuid> = stored.iter().map(|(id, _)| *id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let ids = ids.as_slice();
    let rows = db.read(|tx| async move { deadline::alert::find(tx, ids).await }.scope_boxed()).await?;
    for row in rows {
        let dag_id = stored.iter().find(|(id, _)| *id == row.id).map(|(_, dag_id)| dag_id.as_str());
        let definition = &row.definition;
        let alert =
            DeadlineAlert::of_columns(&definition.reference, &definition.interval, &definition.callback);
        if let (Some(dag_id), Ok(alert)) = (dag_id, alert) {
            seen.note(alert.demands(), dag_id);
        }
    }
    Ok(())
}

impl Seen {
    fn note_missing_pools(&mut self, dag: &Dag, dag_id: &str) {
        let named: BTreeSet<&str> = dag.tasks().iter().map(|task| &*task.pool).collect();
        for pool in named.into_iter().filter(|pool| !self.pools.contains(*pool)) {
            self.missing_pools.entry(pool.to_owned()).or_default().push(dag_id.to_owned());
        }
    }

    fn note(&mut self, demands: impl IntoIterator<Item = Demand>, dag_id: &str) {
        for demand in demands {
            self.demands.entry(demand).or_default().push(dag_id.to_owned());
        }
    }
}

fn findings(seen: &Seen, settings: &Settings) -> Vec<Finding> {
    let count = |count: usize| if count == 1 { "1 DAG".to_owned() } else { format!("{count} DAGs") };
    let mut findings = Vec::new();
    let readable = seen.dags - seen.unreadable.len();
    findings.push(match seen.dags {
        0 => Finding::note("the database has none: a DAG processor adds those of the DAG files"),
        _ => Finding::ok(format!("the serialized forms of {} were read", count(readable))),
    });
    for (dag_id, problems) in &seen.unreadable {
        findings.push(
            Finding::problem(format!("DAG {dag_id} cannot be read: {}", problems.replace('\n', "; ")))
                .advise("`ferroflow dags reserialize` makes its serialized form anew from its file"),
        );
    }
    for (pool, dags) in &seen.missing_pools {
        let text = format!("there is no pool {pool:?}: tasks of {} wait until there is", by(dags));
        let advice = format!("`ferroflow pools set {pool} SLOTS DESCRIPTION` makes it");
        findings.push(Finding::warning(text).advise(&advice));
    }
    for (demand, dags) in &seen.demands {
        findings.push(judge(demand, &by(dags), settings));
    }
    findings
}

fn by(dags: &[String]) -> String {
    let named = dags.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = dags.len().saturating_sub(NAMED);
    if more > 0 { format!("{named} and {more} more") } else { named }
}

fn judge(demand: &Demand, by: &str, settings: &Settings) -> Finding {
    match demand {
        Demand::Timetable(class) => Finding::ok(format!("timetable {class} of {by} is asked in Python")),
        Demand::WeightRule(class) => Finding::ok(format!("weight rule {class} of {by} is asked in Python")),
        Demand::PartitionMapper(class) => {
            Finding::ok(format!("partition mapper {class} of {by} is asked in Python"))
        }
        Demand::PartitionWindow(class) => {
            Finding::ok(format!("window {class} of partitions of {by} is asked in Python"))
        }
        Demand::DeadlineReference(class) => {
            Finding::ok(format!("deadline reference {class} of {by} is asked in Python"))
        }
        Demand::ExecutorCallback(path) => {
            Finding::ok(format!("callback {path} of a deadline of {by} is run by the LocalExecutor"))
        }
        Demand::Executor(name) => match class_of(name, settings) {
            Some(class) => {
                Finding::ok(format!("tasks of {by} name the executor {name}, which is the {class}"))
            }
            None => Finding::problem(format!("tasks of {by} name the executor {name}: they would fail"))
                .advise("drop the argument executor of these tasks, or keep the official scheduler for them"),
        },
        Demand::User(user) => Finding::warning(format!(
            "tasks of {by} run as the user {user} (run_as_user), which is not tested here"
        ))
        .advise("try one with `ferroflow tasks test` before the swap"),
    }
}

/// The class of the executor that a name means, if there is one here.
fn class_of(name: &str, settings: &Settings) -> Option<String> {
    let names = executor_names(&settings.core.executor, settings.core.multi_team).unwrap_or_default();
    let meant = names.iter().find(|known| is_available(known) && known.is_called(name))?;
    Some(meant.class().to_owned())
}
