//! What a client asks of a list, and what it gets.

use jiff::Timestamp;

use crate::list::{Condition, Value};

/// Which rows of a list, in which order. Without anything it is all of them, by the key of the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListRequest {
    pub(super) conditions: Vec<(String, Condition)>,
    pub(super) order: Vec<String>,
    pub(super) paging: Paging,
    pub(super) now: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Paging {
    /// All rows.
    #[default]
    All,
    Offset {
        limit: u32,
        offset: u64,
    },
    /// The first rows, or those behind a position.
    After {
        limit: u32,
        position: Option<Position>,
    },
    /// The last rows before a position, in the order of the list.
    Before {
        limit: u32,
        position: Position,
    },
}

/// A place in a list: what the row there is ordered by.
#[derive(Clone, Debug, PartialEq)]
pub struct Position(pub Vec<Option<Value>>);

/// A page of a list. The positions are there with [`Paging::After`] and [`Paging::Before`] alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed<T> {
    pub rows: Vec<T>,
    /// The last row, if more follow it.
    pub next: Option<Position>,
    /// The first row, if there are rows before it.
    pub previous: Option<Position>,
}

impl ListRequest {
    pub fn new() -> Self {
        Self::default()
    }

    /// Only rows of which this is true, and everything else that was asked for.
    #[must_use]
    pub fn filter(mut self, field: impl Into<String>, condition: Condition) -> Self {
        self.conditions.push((field.into(), condition));
        self
    }

    /// The same if there is a value to compare with.
    #[must_use]
    pub fn filter_if<V>(
        self,
        field: impl Into<String>,
        value: Option<V>,
        condition: impl FnOnce(V) -> Condition,
    ) -> Self {
        match value {
            Some(value) => self.filter(field, condition(value)),
            None => self,
        }
    }

    /// The order, by the names of fields: `-` before one puts the greatest first.
    #[must_use]
    pub fn order_by<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.order = names.into_iter().map(Into::into).collect();
        self
    }

    #[must_use]
    pub fn page(mut self, paging: Paging) -> Self {
        self.paging = paging;
        self
    }

    /// The first rows, so many.
    #[must_use]
    pub fn limit(self, limit: u32) -> Self {
        self.page(Paging::Offset { limit, offset: 0 })
    }

    /// What has not started or ended yet is taken to do so now.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        Self { now: Some(now), ..self }
    }
}
