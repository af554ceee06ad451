//! Why a list is refused.

/// What is wrong with a request for a list. The database was not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    #[error("this list cannot be filtered by {0:?}")]
    UnknownFilter(String),
    #[error("this list cannot be ordered by {0:?}")]
    UnknownOrder(String),
    #[error("{field} is compared with {expected}")]
    BadValue { field: String, expected: &'static str },
    #[error("{field} is compared with at most {limit} values")]
    TooManyValues { field: String, limit: usize },
    #[error("a list is ordered by at most {limit} fields")]
    TooManyOrders { limit: usize },
    /// The position is one of another order.
    #[error("the position has {found} values where the order has {expected} keys")]
    BadPosition { found: usize, expected: usize },
}
