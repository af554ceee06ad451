//! `ferroflow connections test`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_db::Db;

use crate::commands::ReportedFailure;
use crate::output::python_literal;
use crate::session::Session;

#[derive(Args, Debug)]
#[command(after_help = "The hook of the connection tries it. [core] test_connection = Enabled allows that.")]
pub(crate) struct TestArgs {
    /// The connection
    conn_id: String,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

/// Says so if the site does not want connections to be tried.
pub(super) fn refuse_unless_enabled(session: &Session, out: &mut dyn Write) -> Result<()> {
    if session.settings.core.test_connection.trim().eq_ignore_ascii_case("enabled") {
        return Ok(());
    }
    writeln!(
        out,
        "\nTesting connections is disabled in Airflow configuration. Contact your deployment admin to enable it.\n"
    )?;
    Err(ReportedFailure.into())
}

pub(super) async fn run(args: &TestArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    let conn_id = args.conn_id.as_str();
    writeln!(out, "Retrieving connection: {}", python_literal(conn_id))?;
    if super::find(conn_id, session, db).await?.is_none() {
        writeln!(out, "\nConnection not found.\n")?;
        return Err(ReportedFailure.into());
    }
    writeln!(out, "\nTesting...")?;
    out.flush()?;
    let tested = super::ask(session, async |types| types.test(conn_id).await).await?;
    if tested.works {
        return Ok(writeln!(out, "\nConnection success!\n")?);
    }
    writeln!(out, "\nConnection failed!\n{}\n", tested.message)?;
    Err(ReportedFailure.into())
}
