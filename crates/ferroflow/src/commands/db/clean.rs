//! `ferroflow db clean`

use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use ferroflow_component::Shutdown;
use ferroflow_db::cleaning::{self, KeepLast, Old, Table, WITH_FAB};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, schema};
use ferroflow_model::python_datetime;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::{self, Stopwatch};
use tokio_util::sync::CancellationToken;

use super::asked_tables::{TablesArgs, typed};
use crate::commands::audit::{AuditAction, note_deed};
use crate::commands::date_arg::DateArg;
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

/// What has become of a table.
#[derive(Default)]
struct Cleaned {
    deleted: u64,
    held: usize,
}

pub(super) async fn run(session: &Session, args: &CleanArgs, out: &mut dyn Write) -> Result<()> {
    let old = Old {
        before: args.clean_before_timestamp.at(&session.configuration)?,
        dag_ids: args.dag_ids.clone(),
        exclude_dag_ids: args.exclude_dag_ids.clone(),
    };
    let tables = args.tables.find(session)?;
    let db = session.connect().await?;
    schema::check(&db).await?;
    note_deed(session, &db, &AuditAction { event: "cleanup_tables", ..AuditAction::default() }).await;
    if args.dry_run {
        describe(&tables, &old, out)?;
    } else if !args.yes {
        confirm(&tables, &old, out)?;
    }
    let Shutdown { stop, .. } = Shutdown::on_signals(|| {})?;
    let outcome = clean_all(&db, args, &tables, &old, &stop, out).await;
    db.close().await;
    outcome
}

/// What would be done, in Airflow's words.
fn describe(tables: &[&Table], old: &Old, out: &mut dyn Write) -> Result<()> {
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
    let row = |table: &&Table| {
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

fn confirm(tables: &[&Table], old: &Old, out: &mut dyn Write) -> Result<()> {
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

async fn clean_all(
    db: &Db,
    args: &CleanArgs,
    tables: &[&Table],
    old: &Old,
    stop: &CancellationToken,
    out: &mut dyn Write,
) -> Result<()> {
    let there = db.read(|tx| async move { cleaning::existing_tables(tx).await }.scope_boxed()).await?;
    let mut failed: Vec<&str> = Vec::new();
    let mut held = 0;
    for table in tables {
        if !there.iter().any(|name| name == table.name) {
            tracing::debug!("there is no table {}", table.name);
            continue;
        }
        match clean(db, args, table, old, stop, out).await {
            Ok(cleaned) => held += cleaned.held,
            Err(error) => {
                let of_database = error.downcast_ref::<Error>();
                // Where nothing answers, other tables would fail just so.
                if of_database.is_none_or(Error::is_transient) {
                    return Err(error);
                }
                tracing::warn!("table {} is not cleaned: {}", table.name, chain(error.as_ref()));
                failed.push(table.name);
            }
        }
        if stop.is_cancelled() {
            bail!("stopped: what is done is done, and the same command goes on with the rest");
        }
    }
    if held > 0 {
        note(&format!("{held} rows were in use and stay; the same command takes them another time"))?;
    }
    if !failed.is_empty() && args.error_on_cleanup_failure {
        bail!("not cleaned, see above: {}", failed.join(", "));
    }
    Ok(())
}

async fn clean(
    db: &Db,
    args: &CleanArgs,
    table: &Table,
    old: &Old,
    stop: &CancellationToken,
    out: &mut dyn Write,
) -> Result<Cleaned> {
    writeln!(out)?;
    if args.dry_run {
        writeln!(out, "Performing dry run for table {}", table.name)?;
    }
    writeln!(out, "Checking table {}", table.name)?;
    let count = db.read(|tx| async move { cleaning::count(tx, table, old).await }.scope_boxed()).await?;
    writeln!(out, "Found {count} rows meeting deletion criteria.")?;
    if args.dry_run || count == 0 {
        return Ok(Cleaned::default());
    }
    writeln!(out, "Performing Delete...")?;
    let archive = if args.skip_archive { None } else { Some(make_archive(db, table).await?) };
    if let Some(name) = &archive {
        writeln!(out, "Moving data to table {name}")?;
    }
    out.flush()?;
    let cleaned = batches(db, args, table, old, (archive.as_deref(), count), stop).await;
    if let Some(name) = &archive {
        drop_if_empty(db, name).await?;
    }
    let cleaned = cleaned?;
    writeln!(out, "Finished Performing Delete: {} rows", cleaned.deleted)?;
    Ok(cleaned)
}

/// One batch after the other, each with a pause as long as it took: whoever waits for what it had locked has their turn.
async fn batches(
    db: &Db,
    args: &CleanArgs,
    table: &Table,
    old: &Old,
    (archive, count): (Option<&str>, i64),
    stop: &CancellationToken,
) -> Result<Cleaned> {
    const MAX_PAUSE: Duration = Duration::from_secs(1);
    let mut progress = Progress::new(usize::try_from(count).unwrap_or(0), "rows deleted", Format::Table);
    let (mut cleaned, mut after) = (Cleaned::default(), None);
    let limit = args.batch_size as usize;
    loop {
        let watch = Stopwatch::start();
        let last = after.as_ref();
        let done = db.transact(|tx| {
            async move { cleaning::batch(tx, table, old, last, limit, archive).await }.scope_boxed()
        });
        let done = done.await?;
        cleaned.deleted += done.deleted;
        cleaned.held += done.held;
        progress.tell(usize::try_from(cleaned.deleted).unwrap_or(usize::MAX));
        if args.verbose {
            note(&format!("{}: {} rows deleted, {} in use", table.name, done.deleted, done.held))?;
        }
        after = done.next;
        if after.is_none() || stop.is_cancelled() {
            return Ok(cleaned);
        }
        tokio::time::sleep(watch.elapsed().min(MAX_PAUSE)).await;
    }
}

async fn make_archive(db: &Db, table: &Table) -> Result<String> {
    let now = clock::now();
    let made = db.transact(|tx| async move { cleaning::make_archive(tx, table, now).await }.scope_boxed());
    Ok(made.await?)
}

async fn drop_if_empty(db: &Db, name: &str) -> Result<()> {
    let dropped = db.transact(|tx| {
        async move {
            if cleaning::is_empty(tx, name).await? {
                cleaning::drop_archive(tx, name).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    Ok(dropped.await?)
}

/// The tables of an installation: FAB's sessions are among them if it keeps them in the database.
pub(super) fn tables_of(session: &Session) -> Vec<Table> {
    let value = |section, key| session.configuration.require(section, key).map(|value| value.text).ok();
    let has_fab = value("core", "auth_manager").is_some_and(|class| class.contains("FabAuthManager"));
    let backend = value("fab", "session_backend");
    let mut tables = Vec::from(cleaning::TABLES);
    if has_fab && backend.is_none_or(|backend| backend == "database") {
        tables.push(WITH_FAB);
    }
    tables
}
