//! `ferroflow dags trigger`

use std::io::Write;

use anyhow::{Result, anyhow};
use clap::Args;
use ferroflow_db::dag_run::DagRun;
use ferroflow_execution::{Refusal, UserRun};
use ferroflow_model::python_datetime;
use ferroflow_model::state::{RunType, TriggeredBy};
use jiff::Timestamp;
use serde_json::Value;

use super::{VerboseArgs, stored};
use crate::commands::audit::{AuditAction, note_deed};
use crate::commands::date_arg::DateArg;
use crate::commands::json_arg::json_object;
use crate::commands::run_maker::RunMaker;
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
    let date = args.logical_date.as_ref().map(|date| date.at(&session.configuration)).transpose()?;
    let made = block_on(async {
        let db = stored::connect(session).await?;
        let dag_id = Some(args.dag_id.as_str());
        note_deed(
            session,
            &db,
            &AuditAction { event: "dag_trigger", dag_id, task_id: None, logical_date: date },
        )
        .await;
        let wanted = wanted(args, session, date)?;
        let stored = stored::find(&db, &args.dag_id).await?;
        let maker = RunMaker::of(session, &db, &stored.dag).await?;
        let made = maker.trigger(&wanted).await;
        maker.stop().await;
        db.close().await;
        // Databases keep JSON in an order of their own.
        made.map(|run| (run, wanted.conf)).map_err(|refusal| refused(&refusal))
    })?;
    let (run, conf) = made;
    let (names, values) = described(&run, &Value::Object(conf), args.output.output).into_iter().unzip();
    Ok(Records::new(names, vec![values]).print(args.output.output, out)?)
}

fn wanted(args: &TriggerArgs, session: &Session, date: Option<Timestamp>) -> Result<UserRun> {
    Ok(UserRun {
        dag_id: args.dag_id.clone(),
        run_type: RunType::Manual,
        run_id: args.run_id.clone(),
        logical_date: date.map(|date| if args.keep_microseconds { date } else { whole_seconds(date) }),
        run_after: None,
        conf: args.conf.as_deref().map_or(Ok(None), |conf| json_object("--conf", conf))?.unwrap_or_default(),
        partition_key: None,
        note: None,
        triggered_by: TriggeredBy::Cli,
        user: Some(session.host().user),
    })
}

fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_microsecond().div_euclid(1_000_000)).unwrap_or(at)
}

fn refused(refusal: &Refusal) -> anyhow::Error {
    anyhow!("the run is not made: {}", refusal.sentence())
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
