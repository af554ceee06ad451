//! Timetables that only Python can evaluate. They are asked before the transaction, which may not wait for Python.

use std::collections::HashMap;
use std::future::Future;

use ferroflow_db::{Db, Error, Json, ScopedFutureExt as _, dag_run};
use ferroflow_model::asset::AssetCondition;
use ferroflow_model::stored_dag::{LatestRun, TimetableColumns};
use ferroflow_model::timetable::{Restriction, RunInfo};

use super::prepare::PreparedDag;

/// What can ask Python about timetables, which are given as they are serialized.
pub trait Timetables: Sync {
    /// What the database says about a timetable, or what went wrong.
    fn describe(&self, timetable: &Json) -> impl Future<Output = Result<Description, String>> + Send;

    /// The run that follows `last`, or what went wrong.
    fn next_run(
        &self,
        timetable: &Json,
        last: Option<&RunInfo>,
        restriction: &Restriction,
    ) -> impl Future<Output = Result<Option<RunInfo>, String>> + Send;
}

/// What Python says about a timetable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What the `dag` table says about it.
    pub columns: TimetableColumns,
    /// The assets that trigger runs.
    pub assets: Option<AssetCondition>,
}

/// A custom timetable that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimetableFailure {
    /// The DAG that has it.
    pub dag_id: String,
    /// What went wrong.
    pub reason: String,
}

/// What Python said, by DAG.
pub(super) type Answers = HashMap<String, Answer>;

/// What Python said about one DAG.
pub(super) struct Answer {
    pub(super) description: Result<Description, String>,
    /// The run that it was asked about,
    pub(super) asked_after: Option<LatestRun>,
    /// and the one that follows.
    pub(super) next: Result<Option<RunInfo>, String>,
}

impl Answer {
    pub(super) fn failure(&self) -> Option<&str> {
        self.description.as_ref().err().or(self.next.as_ref().err()).map(String::as_str)
    }
}

/// Asks about every DAG that needs it. Without one the database is not asked either.
pub(super) async fn ask(
    db: &Db,
    dags: &[PreparedDag],
    timetables: &impl Timetables,
) -> Result<Answers, Error> {
    let mut answers = Answers::new();
    for dag in dags {
        let Some(timetable) = &dag.parsed.custom_timetable else { continue };
        let description = timetables.describe(timetable).await;
        let answer = match &description {
            Ok(known) if known.columns.can_be_scheduled => {
                match latest_run(db, dag.id(), known.columns.partitioned).await {
                    // The code that stores the file reads it again, and leaves this DAG as it is.
                    Err(Error::Column(bad)) => {
                        Answer { description, asked_after: None, next: Err(bad.to_string()) }
                    }
                    latest => {
                        let (asked_after, dag) = (latest?, &dag.parsed.dag);
                        let last = asked_after.as_ref().map(|run| run.info(&dag.timetable));
                        let next = timetables.next_run(timetable, last.as_ref(), &dag.restriction()).await;
                        Answer { description, asked_after, next }
                    }
                }
            }
            _ => Answer { description, asked_after: None, next: Ok(None) },
        };
        answers.insert(dag.id().to_owned(), answer);
    }
    Ok(answers)
}

async fn latest_run(db: &Db, dag_id: &str, is_partitioned: bool) -> Result<Option<LatestRun>, Error> {
    db.read(|tx| async move { dag_run::latest_automated(tx, dag_id, is_partitioned).await }.scope_boxed())
        .await
}
