//! The tables that `db clean` and what follows on it are asked for, and the words that a person types to go on.

use std::io::{BufRead as _, Write, stdin};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use ferroflow_operations::cleaning::{self, Table, UnknownTable};

use crate::output::note;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct TablesArgs {
    #[arg(
        help = "Only these tables, between commas, and those whose rows go with theirs: any of _xcom_archive, \
                  asset_event, callback, celery_taskmeta, celery_tasksetmeta, connection_test_request, dag, dag_run, \
                  dag_version, deadline, import_error, job, log, partitioned_asset_key_log, revoked_token, \
                  task_instance, task_instance_history, task_reschedule, task_state_store, trigger, xcom"
    )]
    #[arg(short, long, value_name = "TABLES", value_delimiter = ',')]
    tables: Option<Vec<String>>,
}

impl TablesArgs {
    /// The tables that are meant. Names of no table are told, and left out.
    pub(super) fn find(&self, session: &Session) -> Result<Vec<Table>> {
        let found = cleaning::tables(&session.configuration, self.tables.as_deref())
            .map_err(|problem| anyhow!("--tables: {problem}"))?;
        for UnknownTable { name, help } in &found.unknown {
            note(&format!("--tables: {name:?} is no table that is cleaned, and is left out; {help}"))?;
        }
        Ok(found.tables)
    }
}

/// Goes on only if these words are typed.
pub(super) fn typed(words: &str, out: &mut dyn Write) -> Result<()> {
    out.flush()?;
    let mut answer = String::new();
    if stdin().lock().read_line(&mut answer)? == 0 {
        bail!("nobody has answered; --yes answers in advance");
    }
    if answer.trim() == words { Ok(()) } else { bail!("not confirmed: nothing was done") }
}
