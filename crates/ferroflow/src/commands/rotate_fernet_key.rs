//! `ferroflow rotate-fernet-key`

use std::io::Write;

use anyhow::Result;
use ferroflow_config::Environment;
use ferroflow_operations::fernet_key;

use super::operations;
use crate::session::{Session, block_on};

pub(crate) fn run(environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start(environment)?;
    block_on(async {
        let operations = operations::open(&session).await?;
        let rotated = fernet_key::rotate(&operations).await?;
        operations.close().await;
        for kind in rotated {
            writeln!(out, "{:>7} {}", kind.count, kind.what)?;
        }
        writeln!(
            out,
            "encrypted anew with the first key of [core] fernet_key; the others are no longer needed"
        )?;
        Ok(())
    })
}
