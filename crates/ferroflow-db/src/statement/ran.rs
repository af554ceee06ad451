//! Which statements have run on a database: what shows that each of them does on each. Only tests take note of it.

#[cfg(feature = "testing")]
use std::collections::BTreeMap;
#[cfg(feature = "testing")]
use std::sync::{Arc, Mutex, PoisonError};

/// The statements that a [`Db`](crate::Db) and its clones have run, and whether any of their runs found or changed a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran(#[cfg(feature = "testing")] Arc<Mutex<BTreeMap<&'static str, bool>>>);

#[cfg(feature = "testing")]
impl Ran {
    /// The database has taken a statement.
    pub(crate) fn note(&self, statement: &'static str, has_met_rows: bool) {
        let mut ran = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *ran.entry(statement).or_default() |= has_met_rows;
    }

    pub(crate) fn all(&self) -> BTreeMap<&'static str, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(not(feature = "testing"))]
impl Ran {
    #[expect(clippy::unused_self, reason = "only tests take note")]
    pub(crate) fn note(&self, _: &'static str, _: bool) {}
}
