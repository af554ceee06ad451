use ferroflow_config::{Configuration, nearest};
use ferroflow_db::cleaning::{TABLES, Table, WITH_FAB, with_dependents};

use crate::OperationError;

/// Tables that are cleaned, in this order.
#[derive(Debug)]
pub struct Tables {
    pub tables: Vec<Table>,
    pub unknown: Vec<UnknownTable>,
}

/// A name that is of no table that is cleaned.
#[derive(Debug)]
pub struct UnknownTable {
    pub name: String,
    /// How to find the right one.
    pub help: String,
}

/// The tables of these names and those whose rows go with theirs; all if none is named.
pub fn tables(configuration: &Configuration, names: Option<&[String]>) -> Result<Tables, OperationError> {
    let all = of_installation(configuration);
    let (found, unknown) = with_dependents(&all, names);
    let unknown: Vec<UnknownTable> = unknown.into_iter().map(|name| unknown_table(name, &all)).collect();
    match unknown.first() {
        Some(UnknownTable { name, help }) if found.is_empty() => {
            Err(OperationError::value_error(format!("{name:?} is no table that is cleaned; {help}")))
        }
        _ => Ok(Tables { tables: found.into_iter().copied().collect(), unknown }),
    }
}

/// FAB's sessions are among them if it keeps them in the database.
fn of_installation(configuration: &Configuration) -> Vec<Table> {
    let value = |section, key| configuration.require(section, key).map(|value| value.text).ok();
    let has_fab = value("core", "auth_manager").is_some_and(|class| class.contains("FabAuthManager"));
    let backend = value("fab", "session_backend");
    let mut tables = Vec::from(TABLES);
    if has_fab && backend.is_none_or(|backend| backend == "database") {
        tables.push(WITH_FAB);
    }
    tables
}

fn unknown_table(name: String, all: &[Table]) -> UnknownTable {
    let near: Vec<&str> = nearest(&name, all.iter().map(|table| table.name).collect()).collect();
    let help = if near.is_empty() {
        "`ferroflow db clean --help` lists those that can be cleaned".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    UnknownTable { name, help }
}
