//! The tables that `db clean` and what follows on it are asked for, and the words that a person types to go on.

use std::io::{BufRead as _, Write, stdin};

use anyhow::{Result, bail};
use clap::Args;
use ferroflow_config::nearest;
use ferroflow_db::cleaning::{Table, with_dependents};

use super::clean::tables_of;
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
    pub(super) fn find(&self, session: &Session) -> Result<Vec<&'static Table>> {
        // They are few, and wanted to the end of the process.
        let all: &'static [Table] = tables_of(session).leak();
        let (found, unknown) = with_dependents(all, self.tables.as_deref());
        for name in &unknown {
            let near: Vec<&str> = nearest(name, all.iter().map(|table| table.name).collect()).collect();
            let help = if near.is_empty() {
                "`ferroflow db clean --help` lists those that can be cleaned".to_owned()
            } else {
                format!("did you mean {}?", near.join(", "))
            };
            if found.is_empty() {
                bail!("--tables: {name:?} is no table that is cleaned; {help}");
            }
            note(&format!("--tables: {name:?} is no table that is cleaned, and is left out; {help}"))?;
        }
        Ok(found)
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
