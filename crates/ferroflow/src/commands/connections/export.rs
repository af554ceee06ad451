//! `ferroflow connections export`

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use ferroflow_model::{Json, indented_json};
use ferroflow_operations::Operations;
use ferroflow_operations::connection::{self, Connection};
use serde_json::{Map, Value, json};

use crate::commands::secret_file;
use crate::output::{note, yaml_document};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow connections export connections.yaml
  ferroflow connections export - --file-format env --serialization-format json

The secrets are in the file as they are: keep it where nobody reads it who should not.")]
pub(crate) struct ExportArgs {
    /// The file; - is standard output
    file: PathBuf,
    /// What the file is; what its name ends in, if not given, and JSON on standard output
    #[arg(long, value_enum, value_name = "FORMAT")]
    file_format: Option<FileFormat>,
    /// The old name of --file-format
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FileFormat>,
    /// How a connection is written in a line of an env file; a URI, if not given
    #[arg(long, value_enum, value_name = "FORMAT")]
    serialization_format: Option<Serialization>,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileFormat {
    Json,
    Yaml,
    Env,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Serialization {
    Json,
    Uri,
}

pub(super) async fn run(args: &ExportArgs, operations: &Operations, out: &mut dyn Write) -> Result<()> {
    let is_stdout = args.file == Path::new("-");
    let format = file_format(args, is_stdout)?;
    if args.serialization_format.is_some() && format != FileFormat::Env {
        bail!("Option `--serialization-format` may only be used with file type `env`.");
    }
    let all = connection::export(operations).await?;
    let text = match format {
        FileFormat::Json => indented_json(&objects(&all), 2),
        FileFormat::Yaml => yaml_document(&objects(&all)) + "\n",
        FileFormat::Env => lines(&all, args.serialization_format.unwrap_or(Serialization::Uri))?,
    };
    let number = all.len();
    if is_stdout {
        write!(out, "{text}")?;
        out.flush()?;
        return Ok(note(&format!("{number} Connections successfully exported."))?);
    }
    secret_file::write(&args.file, &text).context("the connections are not exported")?;
    Ok(writeln!(out, "{number} Connections successfully exported to {}.", args.file.display())?)
}

fn file_format(args: &ExportArgs, is_stdout: bool) -> Result<FileFormat> {
    if args.format.is_some() && args.file_format.is_some() {
        bail!("Option `--format` is deprecated.  Use `--file-format` instead.");
    }
    if let Some(format) = args.format.or(args.file_format) {
        return Ok(format);
    }
    if is_stdout {
        return Ok(FileFormat::Json);
    }
    let extension = args.file.extension().map(|text| text.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("json") => Ok(FileFormat::Json),
        Some("yaml") => Ok(FileFormat::Yaml),
        Some("env") => Ok(FileFormat::Env),
        _ => bail!(
            "Unsupported file format. The file must have the extension .yaml, .json, .env. --file-format says what \
             another is"
        ),
    }
}

fn objects(all: &[Connection]) -> Value {
    let entries: Map<String, Value> = all.iter().map(|one| (one.conn_id.clone(), object(one))).collect();
    Value::Object(entries)
}

fn object(connection: &Connection) -> Value {
    json!({
        "conn_type": connection.conn_type,
        "description": connection.description,
        "login": connection.login,
        "password": connection.password,
        "host": connection.host,
        "port": connection.port,
        "schema": connection.schema,
        "extra": connection.extra,
    })
}

fn lines(all: &[Connection], serialization: Serialization) -> Result<String> {
    let mut text = String::new();
    for connection in all {
        let value = match serialization {
            Serialization::Uri => connection::uri(connection)?,
            Serialization::Json => Json::from(object(connection)).into_text(),
        };
        writeln!(text, "{}={value}", connection.conn_id)?;
    }
    Ok(text)
}
