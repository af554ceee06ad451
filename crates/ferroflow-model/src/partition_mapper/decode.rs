//! From a serialized mapper to a value.

use std::num::NonZeroI32;

use super::output_format::OutputFormat;
use super::{MAPPERS, MapperKind, PartitionMapper, Period, WAIT_POLICIES, WINDOWS, WaitPolicy, Window};
use crate::document::{Reader, Value};
use crate::timetable::Zone;

impl PartitionMapper {
    pub(crate) fn read<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Self> {
        let (class, data) = class_and_data(reader, value)?;
        let max_downstream_keys = reader.optional(data, "max_downstream_keys", |reader, value| {
            let most = reader.integer(value)?;
            if most == 0 {
                reader.problem("must be at least 1");
            }
            Some(most)
        });
        let kind = match class.strip_prefix(MAPPERS) {
            Some(built_in) => read_built_in(reader, class, built_in, data)?,
            None => MapperKind::Custom { class: class.to_owned(), data: data.to_json() },
        };
        Some(Self { kind, max_downstream_keys })
    }

    /// Whether keys are read as times. `None` if only Python knows.
    fn keys_are_times(&self) -> Option<bool> {
        match self.kind {
            MapperKind::StartOf { .. } => Some(true),
            MapperKind::Custom { .. } => None,
            _ => Some(false),
        }
    }
}

fn class_and_data<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<(&'v str, &'v Value<'v>)> {
    let class = reader.required(value, "__type", Reader::text);
    let data = reader.required(value, "__var", |reader, data| reader.object(data).map(|_| data));
    Some((class?, data?))
}

fn read_built_in<'v>(
    reader: &mut Reader<'v>,
    class: &'v str,
    built_in: &'v str,
    data: &'v Value<'v>,
) -> Option<MapperKind> {
    match built_in {
        "identity.IdentityMapper" => Some(MapperKind::Identity),
        "allowed_key.AllowedKeyMapper" => {
            reader.required(data, "allowed_keys", texts).map(MapperKind::AllowedKeys)
        }
        "fixed_key.FixedKeyMapper" => {
            reader.required(data, "downstream_key", non_empty).map(MapperKind::FixedKey)
        }
        "chain.ChainMapper" => reader.required(data, "mappers", mappers).map(MapperKind::Chain),
        "product.ProductMapper" => read_product(reader, data),
        "base.RollupMapper" => read_rollup(reader, data),
        "temporal.FanOutMapper" => read_fan_out(reader, data),
        _ => {
            let period =
                built_in.strip_prefix("temporal.StartOf").and_then(|rest| rest.strip_suffix("Mapper"));
            let Some(Ok(period)) = period.map(str::parse) else {
                unknown_class(reader, class, "partition mapper");
                return None;
            };
            read_start_of(reader, period, data)
        }
    }
}

fn unknown_class(reader: &mut Reader<'_>, class: &str, what: &str) {
    reader.within("__type", |reader| reader.problem(format_args!("{class:?} is not a {what} of Airflow")));
}

fn read_start_of<'v>(reader: &mut Reader<'v>, period: Period, data: &'v Value<'v>) -> Option<MapperKind> {
    let timezone = match data.get("timezone") {
        None => Some(Zone::UTC),
        Some(value) => reader.within("timezone", |reader| Zone::read(reader, value)),
    };
    let input_format = reader.required(data, "input_format", Reader::text);
    let output_format = reader.required(data, "output_format", |reader, value| {
        let text = reader.text(value)?;
        // Airflow takes one that is empty for one that was not given.
        let text = if text.is_empty() { period.default_output_format() } else { text };
        if period.has_placeholders() {
            OutputFormat::of(text, period).map_err(|problem| reader.problem(problem)).ok()?;
        }
        Some(text)
    });
    Some(MapperKind::StartOf {
        period,
        timezone: timezone?,
        input_format: input_format?.to_owned(),
        output_format: output_format?.to_owned(),
    })
}

fn read_product<'v>(reader: &mut Reader<'v>, data: &'v Value<'v>) -> Option<MapperKind> {
    let mappers = reader.required(data, "mappers", mappers);
    let delimiter = reader.optional(data, "delimiter", Reader::text).unwrap_or("|").to_owned();
    Some(MapperKind::Product { mappers: mappers?, delimiter })
}

fn read_rollup<'v>(reader: &mut Reader<'v>, data: &'v Value<'v>) -> Option<MapperKind> {
    let upstream = reader.required(data, "upstream_mapper", PartitionMapper::read);
    let window = reader.required(data, "window", Window::read);
    let wait = reader.required(data, "wait_policy", WaitPolicy::read);
    let (upstream, window) = (upstream?, window?);
    if let (Some(keys), Some(parts)) = (upstream.keys_are_times(), window.parts_are_times())
        && keys != parts
    {
        let kind = |times| if times { "times" } else { "text" };
        reader.within("window", |reader| {
            reader.problem(format_args!("is made of {}, but the mapper gives {}", kind(parts), kind(keys)));
        });
    }
    Some(MapperKind::Rollup { upstream: Box::new(upstream), window, wait: wait? })
}

fn read_fan_out<'v>(reader: &mut Reader<'v>, data: &'v Value<'v>) -> Option<MapperKind> {
    let upstream = reader.required(data, "upstream_mapper", PartitionMapper::read);
    let window = reader.required(data, "window", Window::read);
    let downstream = reader.required(data, "downstream_mapper", PartitionMapper::read);
    Some(MapperKind::FanOut {
        upstream: Box::new(upstream?),
        window: window?,
        downstream: Box::new(downstream?),
    })
}

impl Window {
    fn read<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Self> {
        let (class, data) = class_and_data(reader, value)?;
        let Some(built_in) = class.strip_prefix(WINDOWS) else {
            return Some(Self::Custom { class: class.to_owned(), data: data.to_json() });
        };
        if built_in == "SegmentWindow" {
            return reader.required(data, "segments", segments).map(Self::Segments);
        }
        let Some(Ok(period)) = built_in.strip_suffix("Window").map(str::parse) else {
            unknown_class(reader, class, "window");
            return None;
        };
        let direction = reader.required(data, "direction", Reader::word)?;
        Some(Self::Period { period, direction })
    }

    /// Whether its parts are times. `None` if only Python knows.
    fn parts_are_times(&self) -> Option<bool> {
        match self {
            Self::Period { .. } => Some(true),
            Self::Segments(_) => Some(false),
            Self::Custom { .. } => None,
        }
    }
}

impl WaitPolicy {
    /// Custom policies do not exist: Airflow refuses them too.
    fn read<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Self> {
        let (class, data) = class_and_data(reader, value)?;
        match class.strip_prefix(WAIT_POLICIES) {
            Some("WaitForAll") => Some(Self::All),
            Some("MinimumCount") => reader.required(data, "n", |reader, value| {
                let count = NonZeroI32::new(reader.integer(value)?);
                if count.is_none() {
                    reader.problem("must not be 0");
                }
                count.map(Self::AtLeast)
            }),
            _ => {
                unknown_class(reader, class, "wait policy");
                None
            }
        }
    }
}

fn mappers<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Vec<PartitionMapper>> {
    let mappers = reader.list(value, PartitionMapper::read)?;
    if matches!(value, Value::List(items) if items.len() < 2) {
        reader.problem("needs at least two mappers");
    }
    Some(mappers)
}

fn texts<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Vec<String>> {
    reader.list(value, |reader, item| reader.text(item).map(str::to_owned))
}

fn segments<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Vec<String>> {
    let segments = reader.list(value, non_empty)?;
    if matches!(value, Value::List(items) if items.is_empty()) {
        reader.problem("needs at least one segment");
    }
    Some(segments)
}

fn non_empty<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<String> {
    let text = reader.text(value)?;
    if text.is_empty() {
        reader.problem("must not be empty");
    }
    Some(text.to_owned())
}
