//! `ferroflow dags state`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_db::Json;
use ferroflow_operations::{dag, dag_run};
use serde_json::Value;

use super::VerboseArgs;
use crate::commands::operations;
use crate::commands::which_run::run_name;
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow dags state daily_report 2026-03-01
  ferroflow dags state daily_report scheduled__2026-03-01T00:00:00+00:00")]
pub(crate) struct StateArgs {
    /// The DAG
    dag_id: String,
    /// The run, by its name or its logical date
    logical_date_or_run_id: String,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

pub(super) fn run(args: &StateArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let name = run_name(&session.configuration, &args.dag_id, &args.logical_date_or_run_id);
    let run = block_on(async {
        let operations = operations::open(session).await?;
        dag::find_row(&operations.db, &args.dag_id).await?;
        Ok(dag_run::find_if_there(&operations, name).await?)
    })?;
    let Some(run) = run else { return Ok(writeln!(out, "None")?) };
    let conf = run.conf.as_ref().and_then(|conf| conf.value().ok());
    match conf {
        Some(Value::Object(conf)) if !conf.is_empty() => {
            writeln!(out, "{}, {}", run.state.as_str(), Json::from(Value::Object(conf)))?;
        }
        _ => writeln!(out, "{}", run.state.as_str())?,
    }
    Ok(())
}
