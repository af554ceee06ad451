//! `ferroflow db clean`

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;
use ferroflow_component::Shutdown;
use ferroflow_model::python_datetime;
use ferroflow_operations::cleaning::{self, CleanProgress, CleanRequest, Cleaned, KeepLast, Old, Table};
use ferroflow_telemetry::chain;

use super::asked_tables::{TablesArgs, typed};
use crate::commands::date_arg::DateArg;
use crate::commands::operations;
use crate::output::{Cell, Format, Progress, Records, note};
use crate::session::Session;

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "Examples:
  ferroflow db clean --clean-before-timestamp 2026-01-01 --dry-run
  ferroflow db clean --clean-before-timestamp 2026-01-01 --yes
  ferroflow db clean --clean-before-timestamp 2026-01-01 --tables log,job --skip-archive --yes

The last run of each DAG that nobody asked for by hand stays, and so do versions of DAGs that task instances were made
from. Rows go in small batches, each in a transaction of its own, and between two of them others have their turn: it can
run beside schedulers. Ctrl-C ends it after a batch; the same command goes on.")]
pub(crate) struct CleanArgs {
    /// What is older than this goes
    #[arg(long, value_name = "DATE")]
    clean_before_timestamp: DateArg,
    #[command(flatten)]
    tables: TablesArgs,
    /// Only rows of these DAGs, between commas; tables that know of no DAGs are cleaned all the same
    #[arg(long, value_name = "DAG_IDS", value_delimiter = ',')]
    dag_ids: Vec<String>,
    /// No rows of these DAGs, between commas
    #[arg(long, value_name = "DAG_IDS", value_delimiter = ',')]
    exclude_dag_ids: Vec<String>,
    /// Only show how many rows would go
    #[arg(long)]
    dry_run: bool,
    /// Do not keep what goes in tables named `_airflow_deleted__…`
    #[arg(long)]
    skip_archive: bool,
    /// How many rows go in one transaction
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    batch_size: u32,
    /// End with an error if a table could not be cleaned
    #[arg(long)]
    error_on_cleanup_failure: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Tell of every batch
    #[arg(short, long)]
    verbose: bool,
}

pub(super) async fn run(session: &Session, args: &CleanArgs, out: &mut dyn Write) -> Result<()> {
    let old = Old {
        before: args.clean_before_timestamp.at(&session.configuration)?,
        dag_ids: args.dag_ids.clone(),
        exclude_dag_ids: args.exclude_dag_ids.clone(),
    };
    let request = CleanRequest {
        tables: args.tables.find(session)?,
        old,
        is_dry_run: args.dry_run,
        keeps_rows: !args.skip_archive,
        batch_size: args.batch_size as usize,
    };
    let operations = operations::open(session).await?;
    let cleaning = cleaning::clean(&operations, request).await;
    if args.dry_run {
        describe(&cleaning.request, out)?;
    } else if !args.yes {
        confirm(&cleaning.request, out)?;
    }
    let Shutdown { stop, .. } = Shutdown::on_signals(|| {})?;
    let mut told = Told { args, out, progress: None, deleted: 0, outcome: Ok(()) };
    let cleaned = cleaning.apply(&stop, |step| told.tell(&step)).await;
    let printed = told.outcome;
    operations.close().await;
    let cleaned = cleaned?;
    printed?;
    conclude(&cleaned, args)
}

fn conclude(cleaned: &Cleaned, args: &CleanArgs) -> Result<()> {
    if cleaned.is_stopped {
        bail!("stopped: what is done is done, and the same command goes on with the rest");
    }
    if cleaned.held > 0 {
        let held = cleaned.held;
        note(&format!("{held} rows were in use and stay; the same command takes them another time"))?;
    }
    if !cleaned.failed.is_empty() && args.error_on_cleanup_failure {
        bail!("not cleaned, see above: {}", cleaned.failed.join(", "));
    }
    Ok(())
}

/// Prints how far it is, in Airflow's words.
struct Told<'a> {
    args: &'a CleanArgs,
    out: &'a mut dyn Write,
    progress: Option<Progress>,
    deleted: u64,
    /// Whether all could be printed.
    outcome: io::Result<()>,
}

impl Told<'_> {
    fn tell(&mut self, step: &CleanProgress<'_>) {
        if self.outcome.is_ok() {
            self.outcome = self.print(step);
        }
    }

    fn print(&mut self, step: &CleanProgress<'_>) -> io::Result<()> {
        match step {
            CleanProgress::Table(name) => {
                writeln!(self.out)?;
                if self.args.dry_run {
                    writeln!(self.out, "Performing dry run for table {name}")?;
                }
                writeln!(self.out, "Checking table {name}")
            }
            CleanProgress::Counted(count) => {
                let of = usize::try_from(*count).unwrap_or(0);
                (self.progress, self.deleted) = (Some(Progress::new(of, "rows deleted", Format::Table)), 0);
                writeln!(self.out, "Found {count} rows meeting deletion criteria.")
            }
            CleanProgress::Deleting => {
                writeln!(self.out, "Performing Delete...")?;
                self.out.flush()
            }
            CleanProgress::Archive(name) => {
                writeln!(self.out, "Moving data to table {name}")?;
                self.out.flush()
            }
            CleanProgress::Batch { table, batch } => {
                self.deleted += batch.deleted;
                if let Some(progress) = &mut self.progress {
                    progress.tell(usize::try_from(self.deleted).unwrap_or(usize::MAX));
                }
                if !self.args.verbose {
                    return Ok(());
                }
                note(&format!("{table}: {} rows deleted, {} in use", batch.deleted, batch.held))
            }
            CleanProgress::Deleted(rows) => {
                self.progress = None;
                writeln!(self.out, "Finished Performing Delete: {rows} rows")
            }
            CleanProgress::Failed { table, error } => {
                self.progress = None;
                tracing::warn!("table {table} is not cleaned: {}", chain(error));
                Ok(())
            }
        }
    }
}

/// What would be done, in Airflow's words.
fn describe(CleanRequest { tables, old, .. }: &CleanRequest, out: &mut dyn Write) -> Result<()> {
    let names: Vec<String> = tables.iter().map(|table| format!("'{}'", table.name)).collect();
    writeln!(out, "Performing dry run for db cleanup.")?;
    writeln!(
        out,
        "Data prior to {} would be purged from tables [{}] with the following config:\n",
        python_datetime(old.before),
        names.join(", ")
    )?;
    let columns = vec![
        "table",
        "recency_column",
        "dag_id_column",
        "keep_last",
        "keep_last_filters",
        "keep_last_group_by",
    ];
    let row = |table: &Table| {
        let filters = (table.keep_last == Some(KeepLast::NotManual)).then_some("run_type != :run_type_1");
        vec![
            Cell::from(table.name),
            Cell::Text(format!("{}.{}", table.name, table.recency)),
            Cell::from(table.dag_id.map(|column| format!("{}.{column}", table.name))),
            Cell::from(table.keep_last.is_some()),
            Cell::from(filters.map(|filter| format!("['{filter}']"))),
            Cell::of_text(table.keep_last.map(|_| "['dag_id']")),
        ]
    };
    Ok(Records::new(columns, tables.iter().map(row).collect()).print(Format::Table, out)?)
}

fn confirm(CleanRequest { tables, old, .. }: &CleanRequest, out: &mut dyn Write) -> Result<()> {
    const ANSWER: &str = "delete rows";
    let mut names: Vec<&str> = tables.iter().map(|table| table.name).collect();
    names.sort_unstable();
    let only =
        if old.dag_ids.is_empty() { String::new() } else { format!(", of {}", old.dag_ids.join(", ")) };
    let but = if old.exclude_dag_ids.is_empty() {
        String::new()
    } else {
        format!(", not of {}", old.exclude_dag_ids.join(", "))
    };
    let (before, names) = (python_datetime(old.before), names.join(", "));
    writeln!(out, "All rows from before {before} go, of the tables {names}{only}{but}.")?;
    writeln!(out, "--dry-run shows how many. Type '{ANSWER}' (without quotes) to go on.")?;
    typed(ANSWER, out)
}
