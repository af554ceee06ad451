//! `ferroflow db export-archived` and `ferroflow db drop-archived`

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use ferroflow_operations::cleaning::{self, Archives, Purpose};

use super::asked_tables::{TablesArgs, typed};
use crate::commands::{operations, secret_file};
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
    let tables = args.tables.find(session)?;
    let operations = operations::open(session).await?;
    let archives = cleaning::archives(&operations, &tables, Purpose::Export).await?;
    if args.drop_archives && !args.yes && !archives.names.is_empty() {
        confirm(&archives.names, out)?;
    }
    for name in &archives.names {
        let ExportFormat::Csv = args.export_format;
        let rows = write_file(&archives, name, &args.output_path.join(format!("{name}.csv"))).await?;
        note(&format!("{name}: {rows} rows written"))?;
        if args.drop_archives {
            drop_one(&archives, name).await?;
        }
    }
    let exported = archives.names.len();
    let dropped = if args.drop_archives { exported } else { 0 };
    note(&format!("{exported} tables exported, {dropped} dropped"))?;
    operations.close().await;
    Ok(())
}

pub(super) async fn drop_all(session: &Session, args: &DropArgs, out: &mut dyn Write) -> Result<()> {
    let tables = args.tables.find(session)?;
    let operations = operations::open(session).await?;
    let archives = cleaning::archives(&operations, &tables, Purpose::Drop).await?;
    if !args.yes && !archives.names.is_empty() {
        confirm(&archives.names, out)?;
    }
    for name in &archives.names {
        drop_one(&archives, name).await?;
    }
    note(&format!("{} tables dropped", archives.names.len()))?;
    operations.close().await;
    Ok(())
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

async fn drop_one(archives: &Archives<'_>, name: &str) -> Result<()> {
    archives.drop(name).await?;
    Ok(note(&format!("{name}: dropped"))?)
}

/// Writes all rows of a table, and says how many. The file has its name only when it is complete, and is for nobody else
/// to read: there are XComs among them.
async fn write_file(archives: &Archives<'_>, name: &str, path: &Path) -> Result<u64> {
    let unfinished = path.with_extension("csv.unfinished");
    let mut file = BufWriter::new(secret_file::create(&unfinished)?);
    let columns = archives.columns(name).await?;
    write_line(&mut file, &columns.into_iter().map(Some).collect::<Vec<_>>())?;
    let (mut rows, mut written) = (0, Ok(()));
    let copied = archives.each_row(name, |row| {
        written = write_line(&mut file, &row);
        rows += u64::from(written.is_ok());
        written.is_ok()
    });
    copied.await?;
    written?;
    file.flush()?;
    file.into_inner().map_err(|error| anyhow!("{}", error.error()))?.sync_all()?;
    fs_err::rename(&unfinished, path)?;
    Ok(rows)
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
