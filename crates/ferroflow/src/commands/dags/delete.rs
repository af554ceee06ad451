//! `ferroflow dags delete`

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use ferroflow_db::dag::delete::Deleted;
use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{ScopedFutureExt as _, dag};

use super::{VerboseArgs, stored};
use crate::commands::audit::{AuditAction, note_deed};
use crate::commands::confirm::confirmed;
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "A DAG whose file is still there comes back with the next parse, without its history.

Examples:
  ferroflow dags delete old_report
  ferroflow dags delete old_report --yes")]
pub(crate) struct DeleteArgs {
    /// The DAG
    dag_id: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

const QUESTION: &str = "This will drop all existing records related to the specified DAG. Proceed? (y/n)";

pub(super) fn run(args: &DeleteArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let dag_id = args.dag_id.as_str();
    block_on(async {
        let db = stored::connect(session).await?;
        note_deed(
            session,
            &db,
            &AuditAction { event: "dag_delete", dag_id: Some(dag_id), ..AuditAction::default() },
        )
        .await;
        if !args.yes && !confirmed(QUESTION, out)? {
            writeln!(out, "Cancelled")?;
            return Ok(());
        }
        let deleted = db.transact(|tx| {
            async move {
                let deleted = dag::delete::delete(tx, dag_id).await?;
                if let Deleted::Rows(_) = deleted {
                    notifications::notify(tx, Notification::Dags).await?;
                }
                Ok(deleted)
            }
            .scope_boxed()
        });
        match deleted.await? {
            Deleted::Rows(rows) => Ok(writeln!(out, "Removed {rows} record(s)")?),
            Deleted::Unknown => Err(stored::unknown(&db, dag_id).await),
            Deleted::StillRunning { run_id, task_id } => {
                bail!(
                    "task {task_id} of run {run_id} still runs; mark it or let it end before its DAG is deleted"
                )
            }
        }
    })
}
