//! Variables, connections and secrets.

use rmpv::Value;
use serde::Deserialize;

/// A connection, by its id.
#[derive(Clone, Debug, Deserialize)]
pub struct GetConnection {
    /// The id.
    pub conn_id: String,
}

/// The value of a variable.
#[derive(Clone, Debug, Deserialize)]
pub struct GetVariable {
    /// Its name.
    pub key: String,
}

/// A page of the names of variables.
#[derive(Clone, Debug, Deserialize)]
pub struct GetVariableKeys {
    /// How they begin.
    #[serde(default)]
    pub prefix: Option<String>,
    /// How many at most.
    #[serde(default = "a_thousand")]
    pub limit: i64,
    /// How many to leave out.
    #[serde(default)]
    pub offset: i64,
}

/// Sets a variable, new or not.
#[derive(Clone, Deserialize)]
pub struct PutVariable {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: Option<String>,
    /// What it is for.
    pub description: Option<String>,
}

/// Deletes a variable, if there is one.
#[derive(Clone, Debug, Deserialize)]
pub struct DeleteVariable {
    /// Its name.
    pub key: String,
}

/// Takes a secret up into the masker.
#[derive(Clone, Deserialize)]
pub struct MaskSecret {
    /// The secret, or what has secrets in it.
    pub value: Value,
    /// The name it goes by.
    #[serde(default)]
    pub name: Option<String>,
}

fn a_thousand() -> i64 {
    1000
}
