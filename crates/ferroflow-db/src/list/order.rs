//! What rows are ordered by.

use crate::list::ListError;
use crate::list::field::{Fields, OrderKey};

/// So many fields a list may be ordered by, as in Airflow.
const MAX_FIELDS: usize = 10;

/// The keys of an order. A name with `-` before it means the greatest first. What ties is ordered by the list's key, in the
/// direction of the first name.
pub(super) fn keys(fields: &Fields, names: &[String]) -> Result<Vec<OrderKey>, ListError> {
    if names.len() > MAX_FIELDS {
        return Err(ListError::TooManyOrders { limit: MAX_FIELDS });
    }
    let mut keys = Vec::new();
    for name in names {
        keys.extend(fields.order(name.trim_start_matches('-'), name.starts_with('-'))?);
    }
    let is_descending = names.first().is_some_and(|name| name.starts_with('-'));
    for key in fields.order(fields.key, is_descending)? {
        if keys.iter().all(|there: &OrderKey| there.compared != key.compared) {
            keys.push(key);
        }
    }
    Ok(keys)
}
