//! `ferroflow tasks clear`

use std::collections::{BTreeSet, HashMap};
use std::io::Write;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use ferroflow_db::task_instance::clear::{Selected, Selection};
use ferroflow_db::{Db, ScopedFutureExt as _, dag, task_instance};
use ferroflow_execution::clear_instances;
use ferroflow_model::dag::Along;
use ferroflow_model::state::TaskState;

use crate::commands::audit::{AuditAction, note_deed};
use crate::commands::confirm::confirmed;
use crate::commands::dags::bundles::BundleArgs;
use crate::commands::dags::stored;
use crate::commands::date_arg::DateArg;
use crate::commands::pattern::pattern;
use crate::output::{Format, Progress, on_one_line};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(
    after_help = "A cleared task instance begins anew, and a finished run that has one is queued again.

Examples:
  ferroflow tasks clear daily_report --only-failed --start-date 2026-03-01 --end-date 2026-03-07
  ferroflow tasks clear daily_report --task-regex load --downstream --yes"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ClearArgs {
    /// The DAG
    dag_id: String,
    /// Only tasks whose id has this text in it
    #[arg(short, long, value_name = "TEXT")]
    task_regex: Option<String>,
    /// Only in runs with this logical date or a later one
    #[arg(short, long, value_name = "DATE")]
    start_date: Option<DateArg>,
    /// Only in runs with this logical date or an earlier one
    #[arg(short, long, value_name = "DATE")]
    end_date: Option<DateArg>,
    /// With --task-regex: all that these tasks wait for, too
    #[arg(short, long)]
    upstream: bool,
    /// With --task-regex: all that wait for these tasks, too
    #[arg(short, long)]
    downstream: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Only those that failed, or did not run since another failed
    #[arg(short = 'f', long)]
    only_failed: bool,
    /// Only those that run; they are stopped, and run again
    #[arg(short = 'r', long)]
    only_running: bool,
    /// The DAG is a regular expression: all DAGs are meant whose id it finds something in
    #[arg(short = 'R', long)]
    dag_regex: bool,
    #[command(flatten)]
    bundles: BundleArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

/// What is to be cleared, run by run.
struct ToClear {
    dag_id: String,
    run_id: String,
    instances: Vec<Selected>,
}

pub(super) fn run(args: &ClearArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    args.bundles.check(&session.settings)?;
    block_on(async {
        let db = stored::connect(session).await?;
        note_deed(
            session,
            &db,
            &AuditAction { event: "task_clear", dag_id: Some(&args.dag_id), ..AuditAction::default() },
        )
        .await;
        let mut all = Vec::new();
        for dag_id in dags(args, &db).await? {
            all.extend(selected(args, session, &db, &dag_id).await?);
        }
        if all.is_empty() || (!args.yes && !confirmed(&question(&all), out)?) {
            if !all.is_empty() {
                writeln!(out, "Cancelled, nothing was cleared.")?;
            }
            return Ok(());
        }
        let unixname = session.host().user;
        let mut progress = Progress::new(all.len(), "runs", Format::Table);
        for (done, run) in all.iter().enumerate() {
            progress.tell(done);
            let ids: BTreeSet<_> = run.instances.iter().map(|instance| instance.id).collect();
            let cleared = clear_instances(&db, &unixname, &run.dag_id, &run.run_id, &ids).await;
            cleared.map_err(|refusal| {
                anyhow!("run {} of {} is not cleared: {}", run.run_id, run.dag_id, refusal.sentence())
            })?;
        }
        drop(progress);
        db.close().await;
        Ok(())
    })
}

/// The DAGs that are meant, of which there has to be one.
async fn dags(args: &ClearArgs, db: &Db) -> Result<Vec<String>> {
    if !args.dag_regex {
        return Ok(vec![args.dag_id.clone()]);
    }
    let text = &args.dag_id;
    let pattern = pattern(text)?;
    let found = db.read(|tx| async move { dag::list::list(tx).await }.scope_boxed()).await?;
    let is_meant = |dag: &dag::list::TaggedDag| {
        pattern.is_match(&dag.dag.dag_id) && args.bundles.includes(Some(&dag.dag.bundle_name))
    };
    let names: Vec<String> = found.into_iter().filter(is_meant).map(|dag| dag.dag.dag_id).collect();
    if names.is_empty() {
        bail!("no DAG has an id that {text:?} is found in");
    }
    Ok(names)
}

async fn selected(args: &ClearArgs, session: &Session, db: &Db, dag_id: &str) -> Result<Vec<ToClear>> {
    let stored = stored::find(db, dag_id).await?;
    let at = |date: Option<&DateArg>| date.map(|date| date.at(&session.configuration)).transpose();
    let task_ids = args.task_regex.as_ref().map(|text| {
        let along = Along { upstream: args.upstream, downstream: args.downstream };
        let tasks = stored.dag.subset(text, along);
        tasks.into_iter().map(|task| stored.dag[task].task_id.to_string()).collect()
    });
    let mut states = Vec::new();
    if args.only_failed {
        states.extend([TaskState::Failed, TaskState::UpstreamFailed]);
    }
    if args.only_running {
        states.push(TaskState::Running);
    }
    let selection = &Selection {
        dag_id: dag_id.to_owned(),
        from: at(args.start_date.as_ref())?,
        to: at(args.end_date.as_ref())?,
        states,
        task_ids,
    };
    let found =
        db.read(|tx| async move { task_instance::clear::select(tx, selection).await }.scope_boxed()).await?;
    Ok(by_run(dag_id, found))
}

fn by_run(dag_id: &str, found: Vec<Selected>) -> Vec<ToClear> {
    let mut runs: Vec<ToClear> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for instance in found {
        let place = *places.entry(instance.run_id.clone()).or_insert_with(|| {
            let (dag_id, run_id) = (dag_id.to_owned(), instance.run_id.clone());
            runs.push(ToClear { dag_id, run_id, instances: Vec::new() });
            runs.len() - 1
        });
        runs[place].instances.push(instance);
    }
    runs
}

/// All that would be cleared, a line for each.
fn question(all: &[ToClear]) -> String {
    let number: usize = all.iter().map(|run| run.instances.len()).sum();
    let mut lines = vec![format!("You are about to clear these {number} task instances:")];
    for run in all {
        for instance in &run.instances {
            let index =
                if instance.map_index < 0 { String::new() } else { format!("[{}]", instance.map_index) };
            let state = instance.state.map_or("none", TaskState::as_str);
            let line = format!("  {}.{}{index} {} [{state}]", run.dag_id, instance.task_id, run.run_id);
            lines.push(on_one_line(&line));
        }
    }
    lines.push("\nAre you sure? [y/n]".to_owned());
    lines.join("\n")
}
