//! `ferroflow dags pause` and `ferroflow dags unpause`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_db::{Db, ScopedFutureExt as _, dag};
use regex::Regex;

use super::{VerboseArgs, stored};
use crate::commands::audit::{AuditAction, note_deed};
use crate::commands::confirm::confirmed;
use crate::commands::pattern::pattern;
use crate::output::{Cell, OutputArgs, Records};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow dags pause daily_report
  ferroflow dags unpause --treat-dag-id-as-regex '^sales_' --yes")]
pub(crate) struct PauseArgs {
    /// The DAG
    dag_id: String,
    /// The DAG is a regular expression: all DAGs are meant whose id it finds something in
    #[arg(long)]
    treat_dag_id_as_regex: bool,
    /// Do not ask before changing all that a regular expression finds
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

pub(super) fn run(args: &PauseArgs, to_pause: bool, session: &Session, out: &mut dyn Write) -> Result<()> {
    let pattern = if args.treat_dag_id_as_regex { Some(pattern(&args.dag_id)?) } else { None };
    block_on(async {
        let db = stored::connect(session).await?;
        let event = if to_pause { "dag_pause" } else { "dag_unpause" };
        note_deed(session, &db, &AuditAction { event, dag_id: Some(&args.dag_id), ..AuditAction::default() })
            .await;
        let names = match &pattern {
            Some(pattern) => found(&db, pattern, !to_pause).await?,
            None => named(&db, &args.dag_id, !to_pause).await?,
        };
        if names.is_empty() {
            writeln!(out, "No {}paused DAGs were found", if to_pause { "un" } else { "" })?;
            return Ok(());
        }
        if pattern.is_some() && !args.yes && !confirmed(&question(&names, to_pause), out)? {
            writeln!(out, "Operation cancelled by user")?;
            return Ok(());
        }
        let changed = set(&db, &names, to_pause).await?;
        db.close().await;
        let row = |name: &String| vec![Cell::from(name.as_str()), Cell::from(!to_pause)];
        let rows = changed.iter().map(row).collect();
        Ok(Records::new(vec!["dag_id", "is_paused"], rows).print(args.output.output, out)?)
    })
}

fn question(names: &[String], to_pause: bool) -> String {
    let (word, number) = (if to_pause { "pause" } else { "unpause" }, names.len());
    format!("You are about to {word} {number} DAGs:\n{}\n\nAre you sure? [y/n]", names.join(","))
}

/// Of the DAGs that are paused or not, those that a pattern finds.
async fn found(db: &Db, pattern: &Regex, is_paused: bool) -> Result<Vec<String>> {
    let names = db.read(|tx| async move { dag::pause::names(tx, is_paused).await }.scope_boxed()).await?;
    Ok(names.into_iter().filter(|name| pattern.is_match(name)).collect())
}

/// The DAG, if it is paused or not.
async fn named(db: &Db, dag_id: &str, is_paused: bool) -> Result<Vec<String>> {
    let row = db.read(|tx| async move { dag::find(tx, dag_id).await }.scope_boxed()).await?;
    match row {
        Some(row) => Ok(if row.is_paused == is_paused { vec![row.dag_id] } else { Vec::new() }),
        None => Err(stored::unknown(db, dag_id).await),
    }
}

/// Those that were changed: somebody else may have been faster.
async fn set(db: &Db, names: &[String], to_pause: bool) -> Result<Vec<String>> {
    let changed = db.transact(|tx| {
        async move {
            let mut changed = Vec::new();
            for name in names {
                if dag::pause::set(tx, name, to_pause).await? {
                    changed.push(name.clone());
                }
            }
            Ok(changed)
        }
        .scope_boxed()
    });
    Ok(changed.await?)
}
