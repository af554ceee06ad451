//! What a pass did, and why it did not do more.

use std::collections::BTreeSet;

use ferroflow_db::Error as DbError;
use ferroflow_db::dag_run::start::StartableRun;
use ferroflow_model::runs::start::NotStarted;
use ferroflow_model::state::RunType;
use jiff::SignedDuration;

use crate::Context;
use crate::refused::{SetAside, or_set_aside};

/// What became of the queued runs that were looked at.
#[derive(Debug, Default)]
pub struct StartedRuns {
    /// The runs that started.
    pub started: Vec<Started>,
    /// Those that did not.
    pub refused: Vec<NotStartedRun>,
    /// Those whose start the database does not take. Others do not wait for them.
    pub set_aside: Vec<SetAside>,
    /// The DAGs in which more could.
    pub(crate) later: BTreeSet<String>,
}

/// A run that started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its row.
    pub id: i64,
    /// The DAG.
    pub dag_id: String,
    /// Its name.
    pub run_id: String,
    /// Why it exists.
    pub run_type: RunType,
    /// How late it is (`dagrun.schedule_delay`), if a schedule says when it should have started.
    pub schedule_delay: Option<SignedDuration>,
}

/// A run that did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotStartedRun {
    /// The DAG.
    pub dag_id: String,
    /// Its name.
    pub run_id: String,
    /// Why not.
    pub reason: NotStarted,
}

impl StartedRuns {
    /// Whether more could start: the next pass can follow at once.
    pub fn is_more_due(&self) -> bool {
        !self.later.is_empty()
    }

    pub(crate) fn add(&mut self, part: Self) {
        self.started.extend(part.started);
        self.refused.extend(part.refused);
        self.set_aside.extend(part.set_aside);
        self.later.extend(part.later);
    }

    pub(super) fn refuse(&mut self, run: &StartableRun, reason: NotStarted) {
        let (dag_id, run_id) = (run.dag_id.clone(), run.run_id.clone());
        self.refused.push(NotStartedRun { dag_id, run_id, reason });
    }

    /// The database does not take it. The next one in its queue may start in its place.
    pub(super) fn leave(&mut self, cx: &Context, run: &StartableRun, error: DbError) {
        let (dag_id, run_id) = (&run.dag_id, &run.run_id);
        or_set_aside::<()>(
            Err(error),
            cx.db.unreadable(),
            |reason| SetAside::run(dag_id, run_id, reason),
            &mut self.set_aside,
        );
        self.later.insert(dag_id.clone());
    }
}
