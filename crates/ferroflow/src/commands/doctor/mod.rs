//! `ferroflow doctor`: whether ferroflow can take the place of official components on a site, and what to do before.
//!
//! Only looks: nothing is written to the database, and user code runs in processes of its own, with a time limit.

mod configuration;
mod dag_files;
mod dags;
mod database;
mod executors;
mod extensions;
mod finding;
mod python;

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_config::{Configuration, Environment};
use ferroflow_execution::tell_unreadable;

use crate::output::AnswerArgs;
use crate::session::{Session, block_on_threads};
use finding::{Finding, Report, Topic};

const EXAMPLES: &str = "\
Run it as the user and with the environment of the official scheduler: it sees what ferroflow would see.

Examples:
  ferroflow doctor                  look, and say what is to be done
  ferroflow doctor --parse          also parse every DAG file now, as `ferroflow dag-processor` would
  ferroflow doctor -o json          the same for a script: verdict, counts, findings

Levels:
  ok        works as it does with Airflow
  note      worth knowing; nothing has to be done
  warning   something is not done, or done otherwise: see whether you need it
  problem   ferroflow would refuse to start, or DAGs would not run

The exit code is 0 if there is no problem, and 1 if there are any.";

/// What is looked at.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorCommand {
    #[command(flatten)]
    answer: AnswerArgs,
    /// Parse every DAG file now, whatever the database says; nothing is stored
    #[arg(long)]
    parse: bool,
}

pub(crate) fn run(command: &DoctorCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let mut report = Report::new(command.answer.output, out);
    examine(command, environment, &mut report)?;
    report.finish()
}

/// Looks at one thing after the other. What cannot be looked at is a finding, and not the end of it.
fn examine(command: &DoctorCommand, environment: &Environment, report: &mut Report<'_>) -> Result<()> {
    let loaded = Configuration::load(environment);
    let session = Session::start_without_warnings(environment);
    let (Ok(configuration), Ok(session)) = (&loaded, &session) else {
        let error = loaded.err().map(anyhow::Error::from).or(session.err().map(Into::into));
        return report.add(configuration::refused(error));
    };
    report.add(configuration::examine(configuration, &session.settings))?;
    report.add(executors::examine(configuration, &session.settings))?;
    let (topic, interpreter) = python::examine(session);
    report.add(topic)?;
    let has_database = block_on_threads(async {
        let (topic, operations) = database::examine(session).await;
        report.add(topic)?;
        let asked = if interpreter.is_some() { Some(extensions::ask(session).await) } else { None };
        report.add(extensions::examine(&session.settings, asked.as_ref()))?;
        let Some(operations) = operations else {
            report.add(not_looked_at())?;
            return Ok(false);
        };
        report.add(dags::examine(&operations).await?)?;
        // Each error is told once.
        if !(command.parse && interpreter.is_some()) {
            report.add(dag_files::stored(&operations).await?)?;
        }
        tell_unreadable(&operations.db);
        operations.db.close().await;
        Ok(true)
    })?;
    if command.parse && interpreter.is_some() && has_database {
        report.add(dag_files::parsed(session, command.answer.output)?)?;
    }
    Ok(())
}

fn not_looked_at() -> Topic {
    Topic::new("DAGs", vec![Finding::note("not looked at, since the database cannot be used")])
}
