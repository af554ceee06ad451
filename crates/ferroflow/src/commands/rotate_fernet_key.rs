//! `ferroflow rotate-fernet-key`

use std::io::Write;

use anyhow::{Result, bail};
use ferroflow_config::Environment;
use ferroflow_db::encoding::fernet_rotation;
use ferroflow_db::{ScopedFutureExt as _, schema};

use crate::session::{Session, block_on};

pub(crate) fn run(environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start(environment)?;
    let fernet = &session.fernet;
    if !fernet.is_encrypting() {
        bail!("[core] fernet_key is empty; set it to the new key, a comma, and the old key");
    }
    block_on(async {
        let db = session.connect().await?;
        schema::check(&db).await?;
        let rotated = db
            .transact(|tx| async move { fernet_rotation::rotate_all(tx, fernet).await }.scope_boxed())
            .await?;
        db.close().await;
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
