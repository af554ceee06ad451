//! What a list may be filtered and ordered by.

use crate::list::ListError;
use crate::list::value::Kind;

/// The fields of one list.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) all: &'static [Field],
    /// The field that no two rows share, by which ties are broken.
    pub(crate) key: &'static str,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// What is compared: SQL, with fragments. Of several, any may be as asked for.
    pub(crate) compared: &'static [&'static str],
    pub(crate) kind: Kind,
    /// What the comparison stands in, as `{condition}`, if it is about rows of other tables.
    pub(crate) within: Option<&'static str>,
    /// Whether NULL counts as now: it has not come yet.
    pub(crate) is_open: bool,
    is_order: bool,
    /// The field that rows are ordered by next, where this one says too little.
    then: Option<&'static str>,
}

impl Field {
    pub(crate) const fn new(name: &'static str, compared: &'static [&'static str], kind: Kind) -> Self {
        Self { name, compared, kind, within: None, is_open: false, is_order: false, then: None }
    }

    /// Rows may be ordered by it.
    pub(crate) const fn ordered(self) -> Self {
        Self { is_order: true, ..self }
    }

    pub(crate) const fn open(self) -> Self {
        Self { is_open: true, ..self }
    }

    pub(crate) const fn within(self, within: &'static str) -> Self {
        Self { within: Some(within), ..self }
    }

    pub(crate) const fn then(self, then: &'static str) -> Self {
        Self { then: Some(then), ..self }
    }
}

/// What rows are ordered by, in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderKey {
    pub(crate) compared: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_descending: bool,
}

impl Fields {
    pub(super) fn filter(&self, name: &str) -> Result<&'static Field, ListError> {
        self.find(name).ok_or_else(|| ListError::UnknownFilter(name.to_owned()))
    }

    /// The keys by which rows are ordered for one name.
    pub(super) fn order(&self, name: &str, is_descending: bool) -> Result<Vec<OrderKey>, ListError> {
        let mut keys = Vec::new();
        let mut next = Some(name);
        while let Some(name) = next {
            let field = self.find(name).filter(|field| field.is_order);
            let field = field.ok_or_else(|| ListError::UnknownOrder(name.to_owned()))?;
            keys.extend(field.compared.first().map(|compared| OrderKey {
                compared,
                kind: field.kind,
                is_descending,
            }));
            next = field.then;
        }
        Ok(keys)
    }

    fn find(&self, name: &str) -> Option<&'static Field> {
        self.all.iter().find(|field| field.name == name)
    }
}
