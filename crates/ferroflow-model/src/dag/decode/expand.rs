//! What a mapped task or group is mapped over.

use super::super::expand::{ExpandArgument, ExpandInput, XComArg};
use super::operator::sequence;
use super::strings::Strings;
use super::tasks::TaskNames;
use crate::document::{Reader, Value};

/// Reads `{"type": …, "value": …}`.
pub(super) fn read_expand_input<'v>(
    reader: &mut Reader<'v>,
    value: &'v Value<'v>,
    names: &TaskNames<'v>,
    strings: &mut Strings<'v>,
) -> Option<ExpandInput> {
    reader.object(value)?;
    let mut decoder = ExpandDecoder { names, strings };
    match reader.required(value, "type", Reader::text)? {
        "dict-of-lists" => {
            reader.required(value, "value", |reader, value| decoder.dict_of_lists(reader, value))
        }
        "list-of-dicts" => {
            reader.required(value, "value", |reader, value| decoder.list_of_dicts(reader, value))
        }
        kind => {
            reader.within("type", |reader| {
                reader.problem(format_args!(
                    "{kind:?} is not a way to expand (known: dict-of-lists, list-of-dicts)"
                ));
            });
            None
        }
    }
}

struct ExpandDecoder<'d, 'v> {
    names: &'d TaskNames<'v>,
    strings: &'d mut Strings<'v>,
}

impl<'v> ExpandDecoder<'_, 'v> {
    fn dict_of_lists(&mut self, reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<ExpandInput> {
        let Some(("dict", Value::Object(entries))) = value.envelope() else {
            reader.expected("an encoded dict", value);
            return None;
        };
        let arguments: Vec<_> = entries
            .iter()
            .filter_map(|(name, value)| {
                let argument = reader.within(name, |reader| self.argument(reader, value))?;
                Some((self.strings.intern(name), argument))
            })
            .collect();
        (arguments.len() == entries.len()).then_some(ExpandInput::DictOfLists(arguments))
    }

    fn list_of_dicts(&mut self, reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<ExpandInput> {
        let argument = self.argument(reader, value)?;
        let mut items = Vec::new();
        if let Value::List(list) = sequence(value) {
            for (index, item) in list.iter().enumerate() {
                if let Some(("xcomref", data)) = item.envelope() {
                    items.extend(reader.within(index, |reader| self.xcom_arg(reader, data)));
                }
            }
        }
        Some(ExpandInput::ListOfDicts { argument, items })
    }

    fn argument(&mut self, reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<ExpandArgument> {
        match (value.envelope(), value) {
            (Some(("xcomref", data)), _) => self.xcom_arg(reader, data).map(ExpandArgument::XCom),
            (Some(("mapped_argument", _)), _) => Some(ExpandArgument::GroupArgument),
            (Some(("dict", Value::Object(entries))), _) => {
                Some(ExpandArgument::Literal(entries.len() as u64))
            }
            (Some(("tuple" | "set", Value::List(items))), _) | (None, Value::List(items)) => {
                Some(ExpandArgument::Literal(items.len() as u64))
            }
            _ => {
                reader.expected("a list, a dict or the result of a task", value);
                None
            }
        }
    }

    /// Nests as deep as the document, which has a limit.
    fn xcom_arg(&mut self, reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<XComArg> {
        reader.object(value)?;
        match reader.optional(value, "type", Reader::text).unwrap_or_default() {
            "" => {
                let task = reader.required(value, "task_id", |reader, name| self.names.find(reader, name));
                let key = reader.required(value, "key", Reader::text);
                Some(XComArg::Plain { task: task?, key: self.strings.intern(key?) })
            }
            "map" => reader
                .required(value, "arg", |reader, arg| self.xcom_arg(reader, arg))
                .map(|arg| XComArg::Map(Box::new(arg))),
            "zip" => {
                let fills = value
                    .get("fillvalue")
                    .is_some_and(|fill| fill.envelope().is_none_or(|(kind, _)| kind != "arg_not_set"));
                Some(XComArg::Zip { args: self.xcom_args(reader, value)?, fills })
            }
            "concat" => self.xcom_args(reader, value).map(XComArg::Concat),
            other => {
                reader.within("type", |reader| {
                    reader.problem(format_args!(
                        "{other:?} is not a way to combine results (known: map, zip, concat)"
                    ));
                });
                None
            }
        }
    }

    fn xcom_args(&mut self, reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Vec<XComArg>> {
        reader.required(value, "args", |reader, args| {
            reader.list(args, |reader, arg| self.xcom_arg(reader, arg))
        })
    }
}
