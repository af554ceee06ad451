//! The versions of a DAG: `dag_version`, and for each its `serialized_dag` and `dag_code`.

pub mod dag_code;
pub(crate) mod row;
pub mod serialized_dag;

pub use row::{DagVersion, NewDagVersion, StoredVersion, insert, latest, latest_of, set_bundle};
