//! `ferroflow connections test`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_model::python_literal;
use ferroflow_operations::OperationError;
use ferroflow_operations::connection;

use super::hooks::PythonHooks;
use crate::commands::{ReportedFailure, operations};
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

pub(super) async fn run(args: &TestArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    // Nothing is looked for, not even the database, where it is not allowed.
    if let Err(refusal) = connection::check_enabled(&session.settings) {
        writeln!(out, "\n{refusal}\n")?;
        return Err(ReportedFailure.into());
    }
    operations::with_backend(session, async |operations| {
        let conn_id = args.conn_id.as_str();
        writeln!(out, "Retrieving connection: {}", python_literal(conn_id))?;
        let test = match connection::test(operations, conn_id).await {
            Err(OperationError::NotFound(_)) => {
                writeln!(out, "\nConnection not found.\n")?;
                return Err(ReportedFailure.into());
            }
            test => test?,
        };
        writeln!(out, "\nTesting...")?;
        out.flush()?;
        let tested = test.run(&PythonHooks(session)).await?;
        if tested.works {
            return Ok(writeln!(out, "\nConnection success!\n")?);
        }
        writeln!(out, "\nConnection failed!\n{}\n", tested.message)?;
        Err(ReportedFailure.into())
    })
    .await
}
