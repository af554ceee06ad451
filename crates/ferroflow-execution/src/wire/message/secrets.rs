//! Variables, connections and secrets.

use rmpv::Value;
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct GetConnection {
    pub(crate) conn_id: String,
}

#[derive(Deserialize)]
pub(crate) struct GetVariable {
    pub(crate) key: String,
}

#[derive(Deserialize)]
pub(crate) struct DeleteVariable {
    pub(crate) key: String,
}

#[derive(Deserialize)]
pub(crate) struct MaskSecret {
    /// The secret, or what has secrets in it.
    pub(crate) value: Value,
    #[serde(default)]
    pub(crate) name: Option<String>,
}
