//! What tasks are made from, once for all tasks of a kind.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::super::task::Operator;
use super::strings::Strings;
use crate::document::{Reader, Value};

/// Where a document tells what a task is made from.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct OperatorKey<'v> {
    pub(super) task_type: &'v str,
    pub(super) module: &'v str,
    pub(super) name: Option<&'v str>,
    pub(super) ui_color: &'v str,
    pub(super) ui_fgcolor: &'v str,
    pub(super) template_fields: Option<&'v Value<'v>>,
    pub(super) extra_links: Option<&'v Value<'v>>,
}

impl Default for OperatorKey<'_> {
    /// What a task that says nothing is made from.
    fn default() -> Self {
        Self {
            task_type: "BaseOperator",
            module: "",
            name: None,
            ui_color: "#fff",
            ui_fgcolor: "#000",
            template_fields: None,
            extra_links: None,
        }
    }
}

/// A value can hold a float, which no document of ours has here; one that is no number only costs an entry.
impl Eq for OperatorKey<'_> {}

impl Hash for OperatorKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.task_type, self.module, self.name, self.ui_color, self.ui_fgcolor).hash(state);
        for value in [self.template_fields, self.extra_links].into_iter().flatten() {
            hash_texts(value, state);
        }
    }
}

/// The texts of a value: what tells lists of fields and links apart.
fn hash_texts(value: &Value<'_>, state: &mut impl Hasher) {
    match value {
        Value::Text(text) => text.hash(state),
        Value::List(items) => items.iter().for_each(|item| hash_texts(item, state)),
        Value::Object(entries) => {
            for (key, value) in *entries {
                key.hash(state);
                hash_texts(value, state);
            }
        }
        _ => {}
    }
}

/// The operators of one DAG, each once.
#[derive(Default)]
pub(super) struct Operators<'v> {
    seen: HashMap<OperatorKey<'v>, Arc<Operator>>,
    last: Option<(OperatorKey<'v>, Arc<Operator>)>,
}

impl<'v> Operators<'v> {
    pub(super) fn intern(
        &mut self,
        reader: &mut Reader<'v>,
        key: OperatorKey<'v>,
        strings: &mut Strings<'v>,
    ) -> Arc<Operator> {
        if let Some((last, operator)) = &self.last
            && *last == key
        {
            return operator.clone();
        }
        let entry = self.seen.entry(key);
        let operator = entry.or_insert_with(|| Arc::new(read(reader, key, strings))).clone();
        self.last = Some((key, operator.clone()));
        operator
    }
}

fn read<'v>(reader: &mut Reader<'v>, key: OperatorKey<'v>, strings: &mut Strings<'v>) -> Operator {
    let template_fields = key.template_fields.and_then(|value| {
        reader.within("template_fields", |reader| {
            let fields = sequence(value);
            reader.list(fields, |reader, field| reader.text(field).map(|field| strings.intern(field)))
        })
    });
    let extra_links = key.extra_links.and_then(|value| {
        reader.within("_operator_extra_links", |reader| read_links(reader, value, strings))
    });
    Operator {
        task_type: strings.intern(key.task_type),
        module: strings.intern(key.module),
        name: strings.intern(key.name.unwrap_or(key.task_type)),
        ui_color: strings.intern(key.ui_color),
        ui_fgcolor: strings.intern(key.ui_fgcolor),
        template_fields: template_fields.unwrap_or_default().into(),
        extra_links: extra_links.unwrap_or_default().into(),
    }
}

fn read_links<'v>(
    reader: &mut Reader<'v>,
    value: &'v Value<'v>,
    strings: &mut Strings<'v>,
) -> Option<Vec<(Arc<str>, Arc<str>)>> {
    let entries = reader.object(value)?;
    let links = entries.iter().filter_map(|(name, xcom_key)| {
        let xcom_key = reader.within(name, |reader| reader.text(xcom_key))?;
        Some((strings.intern(name), strings.intern(xcom_key)))
    });
    Some(links.collect())
}

/// What a list, a tuple or a set holds.
pub(super) fn sequence<'v>(value: &'v Value<'v>) -> &'v Value<'v> {
    match value.envelope() {
        Some(("tuple" | "set", items)) => items,
        _ => value,
    }
}
