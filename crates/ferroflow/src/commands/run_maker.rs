//! What makes runs of a DAG: with Python, if the DAG has something that only Python can say.

use std::path::Path;

use anyhow::Result;
use ferroflow_db::Db;
use ferroflow_db::dag_run::DagRun;
use ferroflow_execution::backfill::{self, AskedBackfill, MadeBackfill};
use ferroflow_execution::{Refusal, RunMaking, UserRun, trigger};
use ferroflow_model::dag::{Dag, WeightRule};
use ferroflow_model::stored_dag::needs_python;
use ferroflow_python::{ForkServer, RunExtensions, survey};

use super::secrets::Keeper;
use crate::session::Session;

pub(crate) struct RunMaker {
    pub(crate) making: RunMaking,
    /// Deadlines may stand in variables.
    keeper: Keeper,
    python: Option<ForkServer>,
}

impl RunMaker {
    pub(crate) async fn of(session: &Session, db: &Db, dag: &Dag) -> Result<Self> {
        let settings = &session.settings;
        // Of deadlines it is not known here whether they are counted by a class of somebody's own.
        let has_deadlines = !dag.deadlines.is_empty();
        let has_say = needs_python(&dag.timetable) || has_rules_in_python(dag) || has_deadlines;
        if !has_say && !may_have_hook(session) {
            let making = RunMaking::new(settings, session.host().user, None)?;
            return Ok(Self { making, keeper: Keeper::without_backend(session, db), python: None });
        }
        let keeper = if has_deadlines {
            Keeper::open(session, db).await?
        } else {
            Keeper::without_backend(session, db)
        };
        let python = session.start_python().await?;
        let RunExtensions { timetables, rules } = RunExtensions::new(&python, settings);
        let making = RunMaking::new(settings, session.host().user, Some(timetables))?;
        Ok(Self { making: making.with_rules(rules), keeper, python: Some(python) })
    }

    pub(crate) async fn trigger(&self, wanted: &UserRun) -> Result<DagRun, Refusal> {
        trigger(self.keeper.service(), &self.making, wanted).await
    }

    pub(crate) async fn backfill(
        &self,
        wanted: &AskedBackfill,
        tell: &(dyn Fn(usize, usize) + Send + Sync),
    ) -> Result<Option<MadeBackfill>, Refusal> {
        backfill::create(self.keeper.service(), &self.making, wanted, tell).await
    }

    pub(crate) async fn stop(self) {
        self.keeper.close().await;
        if let Some(server) = self.python {
            server.stop().await;
        }
    }
}

fn has_rules_in_python(dag: &Dag) -> bool {
    dag.tasks().iter().any(|task| matches!(task.weight_rule, WeightRule::Custom(_)))
}

/// Whether somebody may want to change task instances as they are made. Airflow lets only local settings do so, not hooks
/// of packages; where no Python has Airflow, there are none.
fn may_have_hook(session: &Session) -> bool {
    let home = Path::new(session.configuration.airflow_home());
    let folders = [home.join("config"), session.settings.core.plugins_folder.clone()];
    session.interpreter().is_ok_and(|python| survey::may_have_local_settings(&python.path, &folders))
}
