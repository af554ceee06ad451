//! `ferroflow db export-archived` and `ferroflow db drop-archived`

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use ferroflow_db::{Db, ScopedFutureExt as _, cleaning, schema};

use super::asked_tables::{TablesArgs, typed};
use crate::commands::audit::{AuditAction, note_deed};
use crate::commands::secret_file;
use crate::output::note;
use crate::session::Session;

#[derive(Args, Debug)]
#[command(after_help = "Example:
  ferroflow db export-archived --output-path /backup/airflow --drop-archives --yes")]
pub(crate) struct ExportArgs {
    /// The directory that the files go into, which has to exist
    #[arg(long, value_name = "DIRPATH", value_parser = directory)]
    output_path: PathBuf,
    /// The format of the files
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    export_format: ExportFormat,
    #[command(flatten)]
    tables: TablesArgs,
    /// Drop each table once its file is written
    #[arg(long)]
    drop_archives: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

fn directory(text: &str) -> Result<PathBuf, &'static str> {
    let path = PathBuf::from(text);
    if path.is_dir() { Ok(path) } else { Err("there is no such directory: make it first") }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ExportFormat {
    Csv,
}

#[derive(Args, Debug)]
pub(crate) struct DropArgs {
    #[command(flatten)]
    tables: TablesArgs,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) async fn export(session: &Session, args: &ExportArgs, out: &mut dyn Write) -> Result<()> {
    let (db, names) = find(session, &args.tables, "export_archived").await?;
    if args.drop_archives && !args.yes && !names.is_empty() {
        confirm(&names, out)?;
    }
    for name in &names {
        let ExportFormat::Csv = args.export_format;
        let rows = write_file(&db, name, &args.output_path.join(format!("{name}.csv"))).await?;
        note(&format!("{name}: {rows} rows written"))?;
        if args.drop_archives {
            drop_one(&db, name).await?;
        }
    }
    let dropped = if args.drop_archives { names.len() } else { 0 };
    note(&format!("{} tables exported, {dropped} dropped", names.len()))?;
    db.close().await;
    Ok(())
}

pub(super) async fn drop_all(session: &Session, args: &DropArgs, out: &mut dyn Write) -> Result<()> {
    let (db, names) = find(session, &args.tables, "drop_archived").await?;
    if !args.yes && !names.is_empty() {
        confirm(&names, out)?;
    }
    for name in &names {
        drop_one(&db, name).await?;
    }
    note(&format!("{} tables dropped", names.len()))?;
    db.close().await;
    Ok(())
}

/// The tables of old rows that are meant, and the database.
async fn find(session: &Session, asked: &TablesArgs, event: &str) -> Result<(Db, Vec<String>)> {
    let tables = asked.find(session)?;
    let db = session.connect().await?;
    schema::check(&db).await?;
    note_deed(session, &db, &AuditAction { event, ..AuditAction::default() }).await;
    let of = tables.as_slice();
    let names = db.read(|tx| async move { cleaning::archives(tx, of).await }.scope_boxed()).await?;
    Ok((db, names))
}

fn confirm(names: &[String], out: &mut dyn Write) -> Result<()> {
    const ANSWER: &str = "drop archived tables";
    writeln!(out, "These {} tables go, with all rows that `db clean` has kept in them:", names.len())?;
    for name in names {
        writeln!(out, "  {name}")?;
    }
    writeln!(out, "Type '{ANSWER}' (without quotes) to go on.")?;
    typed(ANSWER, out)
}

async fn drop_one(db: &Db, name: &str) -> Result<()> {
    db.transact(|tx| async move { cleaning::drop_archive(tx, name).await }.scope_boxed()).await?;
    Ok(note(&format!("{name}: dropped"))?)
}

/// Writes all rows of a table, and says how many. The file has its name only when it is complete, and is for nobody else
/// to read: there are XComs among them.
async fn write_file(db: &Db, name: &str, path: &Path) -> Result<u64> {
    let unfinished = path.with_extension("csv.unfinished");
    let mut file = BufWriter::new(secret_file::create(&unfinished)?);
    let columns = db.read(|tx| async move { cleaning::columns(tx, name).await }.scope_boxed()).await?;
    write_line(&mut file, &columns.into_iter().map(Some).collect::<Vec<_>>())?;
    let rows = copy_rows(db, name, &mut file).await?;
    file.flush()?;
    file.into_inner().map_err(|error| anyhow!("{}", error.error()))?.sync_all()?;
    fs_err::rename(&unfinished, path)?;
    Ok(rows)
}

async fn copy_rows(db: &Db, name: &str, file: &mut (impl Write + Send)) -> Result<u64> {
    let (mut rows, mut problem) = (0, None);
    let sink = std::sync::Mutex::new((file, &mut rows, &mut problem));
    let sink = &sink;
    let read = db.read(|tx| {
        async move {
            cleaning::each_row(tx, name, |row| {
                let mut sink = sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let (file, rows, problem) = &mut *sink;
                match write_line(file, &row) {
                    Ok(()) => **rows += 1,
                    Err(error) => **problem = Some(error),
                }
                problem.is_none()
            })
            .await
        }
        .scope_boxed()
    });
    read.await?;
    match problem {
        Some(error) => Err(error.into()),
        None => Ok(rows),
    }
}

/// A line as Python's `csv` writes it.
fn write_line(out: &mut dyn Write, cells: &[Option<String>]) -> std::io::Result<()> {
    let quoted = |cell: &Option<String>| {
        let text = cell.as_deref().unwrap_or("");
        let is_special = text.contains([',', '"', '\r', '\n']) || (cells.len() == 1 && text.is_empty());
        if is_special { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
    };
    write!(out, "{}\r\n", cells.iter().map(quoted).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::write_line;

    #[test]
    fn lines_are_those_of_python() {
        let mut out = Vec::new();
        let cells = ["plain", "a,b", "say \"so\"", "two\nlines"].map(|text| Some(text.to_owned()));
        write_line(&mut out, &[&cells[..], &[None]].concat()).unwrap();
        write_line(&mut out, &[None]).unwrap();
        let expected = "plain,\"a,b\",\"say \"\"so\"\"\",\"two\nlines\",\r\n\"\"\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
