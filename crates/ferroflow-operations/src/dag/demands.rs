//! What DAGs ask for of a site.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{ScopedFutureExt as _, dag, deadline};
use ferroflow_model::dag::{Dag, Deadline, DeadlineAlert, Demand};
use uuid::Uuid;

use crate::{OperationError, Operations, pool};

/// How many DAGs are read at a time: documents are long.
const BATCH: usize = 100;

/// What was found in the serialized forms of all active DAGs.
#[derive(Debug, Default)]
pub struct Demands {
    /// How many were read.
    pub dags: usize,
    /// Those that cannot be read, with the reason.
    pub unreadable: Vec<(String, String)>,
    /// What is asked for, and by which DAGs.
    pub demands: BTreeMap<Demand, Vec<String>>,
    /// Pools that do not exist, and the DAGs whose tasks would wait for a slot of them.
    pub missing_pools: BTreeMap<String, Vec<String>>,
    pools: BTreeSet<String>,
}

/// What all active DAGs ask for.
pub async fn demands(operations: &Operations) -> Result<Demands, OperationError> {
    let active = operations.db.read(|tx| async move { dag::active(tx).await }.scope_boxed()).await?;
    let names: Vec<String> = active.into_iter().map(|dag| dag.dag_id).collect();
    let pools = pool::list(operations).await?.into_iter().map(|pool| pool.name).collect();
    let mut found = Demands { pools, ..Demands::default() };
    for names in names.chunks(BATCH) {
        read(operations, names, &mut found).await?;
    }
    Ok(found)
}

async fn read(operations: &Operations, names: &[String], found: &mut Demands) -> Result<(), OperationError> {
    let documents = operations.db.read(|tx| {
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
        found.dags += 1;
        let document = match document {
            Ok(document) => document,
            Err(error) => {
                found.unreadable.push((format!("version {version}"), error.to_string()));
                continue;
            }
        };
        let dag_id = document.dag_id;
        match Dag::decode(document.data.text()) {
            Err(problems) => found.unreadable.push((dag_id, problems.to_string())),
            Ok(dag) => {
                let ids = dag.deadlines.iter().filter_map(|deadline| match deadline {
                    Deadline::Stored(id) => Some((*id, dag_id.clone())),
                    Deadline::Inline(_) => None,
                });
                stored.extend(ids);
                found.note(dag.demands(), &dag_id);
                found.note_missing_pools(&dag, &dag_id);
            }
        }
    }
    read_deadlines(operations, &stored, found).await
}

async fn read_deadlines(
    operations: &Operations,
    stored: &[(Uuid, String)],
    found: &mut Demands,
) -> Result<(), OperationError> {
    let ids: Vec<Uuid> = stored.iter().map(|(id, _)| *id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let ids = ids.as_slice();
    let rows =
        operations.db.read(|tx| async move { deadline::alert::find(tx, ids).await }.scope_boxed()).await?;
    for row in rows {
        let dag_id = stored.iter().find(|(id, _)| *id == row.id).map(|(_, dag_id)| dag_id.as_str());
        let definition = &row.definition;
        let alert =
            DeadlineAlert::of_columns(&definition.reference, &definition.interval, &definition.callback);
        if let (Some(dag_id), Ok(alert)) = (dag_id, alert) {
            found.note(alert.demands(), dag_id);
        }
    }
    Ok(())
}

impl Demands {
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
