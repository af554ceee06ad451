//! `ferroflow info`

use std::io::Write;

use anyhow::Result;
use ferroflow_config::Environment;
use ferroflow_db::schema;

use super::version::AIRFLOW_VERSION;
use crate::session::{Session, block_on};

pub(crate) fn run(environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start(environment)?;
    let system = rustix::system::uname();
    let settings = &session.settings;
    let config_file = session.configuration.path();
    let presence = if config_file.exists() { "" } else { " (missing: defaults are in effect)" };
    let (server, tables) = block_on(async { Ok(database(&session).await) })?;
    let lines = [
        ("ferroflow", env!("CARGO_PKG_VERSION").to_owned()),
        ("stands in for", format!("Airflow {AIRFLOW_VERSION}")),
        ("system", format!("{} {}", system.sysname().to_string_lossy(), system.machine().to_string_lossy())),
        ("airflow home", session.configuration.airflow_home().to_owned()),
        ("airflow.cfg", format!("{}{presence}", config_file.display())),
        ("database", session.database_url()?.to_string()),
        ("database server", server),
        ("database tables", tables),
        ("executor", settings.core.executor.clone()),
        ("dags folder", settings.core.dags_folder.display().to_string()),
        ("plugins folder", settings.core.plugins_folder.display().to_string()),
        ("log folder", settings.logging.base_log_folder.display().to_string()),
    ];
    for (name, value) in lines {
        writeln!(out, "{name:<16} {value}")?;
    }
    Ok(())
}

/// The server and the state of its tables. A database that cannot be used is news, not a failure: this command
/// is what people run to find out.
async fn database(session: &Session) -> (String, String) {
    let db = match session.connect().await.map_err(anyhow::Error::from) {
        Ok(db) => db,
        Err(error) => return ("not connected".to_owned(), format!("{error:#}")),
    };
    let tables = match schema::check(&db).await {
        Ok(()) => format!("revision {}", schema::REVISION),
        Err(error) => error.to_string(),
    };
    let server = db.server().to_owned();
    db.close().await;
    (server, tables)
}
