//! `ferroflow dags trigger`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_db::dag_run::DagRun;
use ferroflow_model::python_datetime;
use ferroflow_operations::dag_run::{self, TriggerRequest};
use jiff::Timestamp;
use serde_json::Value;

use super::VerboseArgs;
use crate::commands::date_arg::DateArg;
use crate::commands::json_arg::json_object;
use crate::commands::operations;
use crate::output::{Cell, Format, OutputArgs, Records};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow dags trigger daily_report
  ferroflow dags trigger daily_report --logical-date 2026-03-01 --conf '{\"region\": \"north\"}'
  ferroflow dags trigger daily_report --run-id by_hand -o json")]
pub(crate) struct TriggerArgs {
    /// The DAG
    dag_id: String,
    /// The name of the run; one with the time is made up if not given
    #[arg(short, long)]
    run_id: Option<String>,
    /// What the run is given: a JSON object
    #[arg(short, long, value_name = "JSON")]
    conf: Option<String>,
    /// The date that the run stands for; a run without one has no data interval
    #[arg(short, long, value_name = "DATE")]
    logical_date: Option<DateArg>,
    /// Take the logical date as it is: without this, fractions of its second are cut off
    #[arg(long = "no-replace-microseconds")]
    keep_microseconds: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

pub(super) fn run(args: &TriggerArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let logical_date = args.logical_date.as_ref().map(|date| date.at(&session.configuration)).transpose()?;
    let (run, request) = block_on(async {
        let operations = operations::open(session).await?;
        let action = dag_run::trigger_action(&args.dag_id, logical_date);
        let conf = args.conf.as_deref().map_or(Ok(None), |conf| json_object("--conf", conf));
        let request = TriggerRequest {
            dag_id: args.dag_id.clone(),
            run_id: args.run_id.clone(),
            logical_date,
            keeps_microseconds: args.keep_microseconds,
            conf: operations::logged_if_failed(&operations, &action, conf).await?.unwrap_or_default(),
            ..TriggerRequest::default()
        };
        let run = dag_run::trigger(&operations, &request).await;
        operations.close().await;
        let run = run.map_err(|error| operations::refused("the run is not made", error))?;
        Ok((run, request))
    })?;
    // Databases keep JSON in an order of their own.
    let conf = Value::Object(request.conf);
    let (names, values) = described(&run, &conf, args.output.output).into_iter().unzip();
    Ok(Records::new(names, vec![values]).print(args.output.output, out)?)
}

/// A run as the command shows it.
fn described(run: &DagRun, conf: &Value, format: Format) -> Vec<(&'static str, Cell)> {
    let time = |at: Option<Timestamp>| Cell::from(at.map(python_datetime));
    vec![
        ("conf", Cell::of_json(conf, format)),
        ("dag_id", Cell::from(run.dag_id.as_str())),
        ("dag_run_id", Cell::from(run.run_id.as_str())),
        ("data_interval_start", time(run.data_interval_start)),
        ("data_interval_end", time(run.data_interval_end)),
        ("end_date", time(run.end_date)),
        ("last_scheduling_decision", time(run.last_scheduling_decision)),
        ("logical_date", time(run.logical_date)),
        ("run_type", Cell::from(run.run_type.as_str())),
        ("start_date", time(run.start_date)),
        ("state", Cell::from(run.state.as_str())),
        ("triggering_user_name", Cell::of_text(run.triggering_user_name.as_deref())),
    ]
}
