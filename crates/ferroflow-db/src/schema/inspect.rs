//! What a database holds.

use crate::schema::refusal::Refusal;
use crate::schema::{REVISION, ddl};
use crate::statement::sql;
use crate::{Dialect, Error, Tx};

/// What a database holds, as far as its tables tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Empty,
    /// The tables of this revision, complete.
    Current,
    /// Some of these tables, without rows and without a revision: their creation was interrupted.
    Interrupted,
    /// The right revision, and not all of its tables.
    Damaged {
        /// Those that are not there.
        missing: Vec<String>,
    },
    /// Tables of another version of Airflow.
    Other {
        /// Its alembic revision.
        revision: String,
    },
    /// Tables, and no revision of Airflow.
    Foreign {
        /// Their names.
        tables: Vec<String>,
    },
}

/// What is there.
pub(super) async fn state(tx: &mut Tx) -> Result<State, Error> {
    let tables = table_names(tx).await?;
    let ours = ddl::table_names();
    if let Some(revision) = revision(tx, &tables).await? {
        if revision != REVISION {
            return Ok(State::Other { revision });
        }
        let missing = |table: &&str| !tables.iter().any(|name| name == table);
        let missing: Vec<String> = ours.iter().copied().filter(missing).map(str::to_owned).collect();
        return Ok(if missing.is_empty() { State::Current } else { State::Damaged { missing } });
    }
    let foreign = |table: &String| !ours.contains(&table.as_str());
    if tables.is_empty() {
        Ok(State::Empty)
    } else if !tables.iter().any(foreign) && is_unused(tx, &tables).await? {
        Ok(State::Interrupted)
    } else {
        Ok(State::Foreign { tables })
    }
}

/// The tables of the schema that new tables go to. Ferroflow's own are not counted.
pub(crate) async fn table_names(tx: &mut Tx) -> Result<Vec<String>, Error> {
    let rows = match tx.dialect() {
        Dialect::Postgres => {
            let row = tx.fetch_optional(sql!("schema/current_postgres"), Vec::new()).await?;
            let current = row.map(|row| row.optional::<String>("name")).transpose()?.flatten();
            let configured = tx.configured_schema().map(|schema| &schema.name);
            if current.is_none() || configured.is_some_and(|name| Some(name) != current.as_ref()) {
                return Err(Refusal::NoSchema.into());
            }
            tx.fetch_all(sql!("schema/tables_postgres"), Vec::new()).await?
        }
        Dialect::MySql | Dialect::MariaDb => tx.fetch_all(sql!("schema/tables_mysql"), Vec::new()).await?,
        Dialect::Sqlite => tx.fetch_all(sql!("schema/tables_sqlite"), Vec::new()).await?,
    };
    let mut names: Vec<String> = rows.iter().map(|row| row.get("name")).collect::<Result<_, _>>()?;
    names.retain(|name| !name.starts_with("ferroflow_"));
    Ok(names)
}

async fn revision(tx: &mut Tx, tables: &[String]) -> Result<Option<String>, Error> {
    if !tables.iter().any(|table| table == "alembic_version") {
        return Ok(None);
    }
    let row = tx.fetch_optional(sql!("alembic_version/select"), Vec::new()).await?;
    row.map(|row| row.get("version_num")).transpose()
}

/// Whether these tables hold nothing but what their creation puts there.
async fn is_unused(tx: &mut Tx, tables: &[String]) -> Result<bool, Error> {
    for table in tables.iter().filter(|table| !["slot_pool", "log_template"].contains(&table.as_str())) {
        let query = format!("SELECT 1 AS present FROM {{name:{table}}} LIMIT 1");
        if !tx.fetch_text("looking for rows", &query, Vec::new()).await?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
