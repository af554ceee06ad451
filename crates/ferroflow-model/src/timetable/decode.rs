//! From a serialized timetable to a value.

use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use super::cron::{Cron, without_preset};
use super::run_id::iso_format;
use super::{
    CronPartition, CronTrigger, Custom, Delta, DeltaTrigger, Events, MultipleCronTrigger, PartitionedAsset,
    RunImmediately, Timetable, Zone, ZonedCron,
};
use crate::asset::AssetCondition;
use crate::document::{Problems, Reader, Value, decode, python_instant};
use crate::partition_mapper::PartitionMapper;

/// Where Airflow's own timetables live: a class here that we do not know is not a custom one.
const BUILT_IN: &str = "airflow.timetables.";

/// How far a partition may lie from its run. Every tick of the way is a search.
const MAX_OFFSET: i32 = 100_000;

impl Timetable {
    /// Decodes `{"__type": import path, "__var": fields}`. Places of problems leave out the `__var`.
    pub fn decode(text: &str) -> Result<Self, Problems> {
        decode(text, Self::read)
    }

    pub(crate) fn read<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Self> {
        reader.object(value)?;
        let class = reader.required(value, "__type", Reader::text);
        let fields = reader.required(value, "__var", |_, fields| Some(fields));
        let (class, fields) = (class?, fields?);
        match class.strip_prefix(BUILT_IN) {
            Some(name) => read_built_in(reader, class, name, fields),
            None => Some(Self::Custom(Custom { class: class.to_owned(), data: fields.to_json() })),
        }
    }
}

fn read_built_in<'v>(
    reader: &mut Reader<'v>,
    class: &str,
    name: &str,
    fields: &'v Value<'v>,
) -> Option<Timetable> {
    reader.within("__var", |reader| reader.object(fields))?;
    Some(match name {
        "simple.NullTimetable" => Timetable::Null,
        "simple.PartitionedAtRuntime" => Timetable::PartitionedAtRuntime,
        "simple.OnceTimetable" => Timetable::Once,
        "simple.ContinuousTimetable" => Timetable::Continuous,
        "simple.AssetTriggeredTimetable" => Timetable::AssetTriggered(read_assets(reader, fields)?),
        "simple.PartitionedAssetTimetable" => {
            Timetable::PartitionedAsset(Box::new(read_partitioned_asset(reader, fields)?))
        }
        "assets.AssetOrTimeSchedule" => {
            let assets = read_assets(reader, fields);
            let time = reader.required(fields, "timetable", Timetable::read);
            Timetable::AssetOrTime { assets: assets?, time: Box::new(time?) }
        }
        "interval.CronDataIntervalTimetable" => Timetable::CronDataInterval(read_cron(reader, fields)?),
        "interval.DeltaDataIntervalTimetable" => {
            Timetable::DeltaDataInterval(reader.required(fields, "delta", Delta::read)?)
        }
        "trigger.CronTriggerTimetable" => Timetable::CronTrigger(read_cron_trigger(reader, fields)?),
        "trigger.DeltaTriggerTimetable" => {
            let delta = reader.required(fields, "delta", Delta::read);
            let interval = reader.required(fields, "interval", Delta::read);
            Timetable::DeltaTrigger(DeltaTrigger { delta: delta?, interval: interval? })
        }
        "trigger.MultipleCronTriggerTimetable" => {
            Timetable::MultipleCronTrigger(read_multiple_crons(reader, fields)?)
        }
        "trigger.CronPartitionTimetable" => Timetable::CronPartition(read_cron_partition(reader, fields)?),
        "events.EventsTimetable" => Timetable::Events(read_events(reader, fields)?),
        _ => {
            reader.within("__type", |reader| {
                reader.problem(format_args!("{class} is not a timetable of Airflow 3.3.2"));
            });
            return None;
        }
    })
}

fn read_assets<'v>(reader: &mut Reader<'v>, fields: &'v Value<'v>) -> Option<AssetCondition> {
    reader.required(fields, "asset_condition", AssetCondition::read)
}

fn read_partitioned_asset<'v>(reader: &mut Reader<'v>, fields: &'v Value<'v>) -> Option<PartitionedAsset> {
    let assets = read_assets(reader, fields);
    let mappers = reader.required(fields, "partition_mapper_config", |reader, pairs| {
        reader.list(pairs, |reader, pair| match pair {
            Value::List(pair) if pair.len() == 2 => {
                let assets = reader.within(0, |reader| AssetCondition::read(reader, &pair[0]));
                let mapper = reader.within(1, |reader| PartitionMapper::read(reader, &pair[1]));
                Some((assets?, mapper?))
            }
            other => {
                reader.expected("an asset and its mapper", other);
                None
            }
        })
    });
    let default_mapper = reader.required(fields, "default_partition_mapper", PartitionMapper::read);
    Some(PartitionedAsset { assets: assets?, mappers: mappers?, default_mapper: default_mapper? })
}

fn read_cron<'v>(reader: &mut Reader<'v>, fields: &'v Value<'v>) -> Option<ZonedCron> {
    let expression = reader.required(fields, "expression", read_expression);
    let zone = reader.required(fields, "timezone", Zone::read);
    let (expression, cron) = expression?;
    Some(ZonedCron::of_parsed(expression, cron, zone?))
}

fn read_expression<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<(&'v str, Cron)> {
    let expression = without_preset(reader.text(value)?);
    let cron = Cron::parse(expression).map_err(|error| reader.problem(error)).ok();
    Some((expression, cron?))
}

fn read_cron_trigger<'v>(reader: &mut Reader<'v>, fields: &'v Value<'v>) -> Option<CronTrigger> {
    let cron = read_cron(reader, fields);
    let interval = reader.required(fields, "interval", Delta::read);
    let run_immediately = read_run_immediately(reader, fields);
    Some(CronTrigger { cron: cron?, interval: interval?, run_immediately: run_immediately? })
}

/// Only a float is a number of seconds; an integer counts as little as `false`, as it does in Airflow.
fn read_run_immediately<'v>(reader: &mut Reader<'v>, fields: &'v Value<'v>) -> Option<RunImmediately> {
    match fields.get("run_immediately") {
        Some(Value::Bool(true)) => Some(RunImmediately::Always),
        Some(value @ Value::Float(_)) => {
            reader.within("run_immediately", |reader| reader.seconds(value)).map(RunImmediately::Within)
        }
        None | Some(Value::Null | Value::Bool(false) | Value::Int(_)) => Some(RunImmediately::WithinATenth),
        Some(other) => {
            reader.within("run_immediately", |reader| {
                reader.expected("a boolean or a number of seconds", other);
            });
            None
        }
    }
}

fn read_multiple_crons<'v>(reader: &mut Reader<'v>, fields: &'v Value<'v>) -> Option<MultipleCronTrigger> {
    let expressions = reader.required(fields, "expressions", |reader, list| {
        let expressions = reader.list(list, read_expression)?;
        if *list == Value::List(&[]) {
            reader.problem("at least one cron expression is required");
        }
        Some(expressions)
    });
    let zone = reader.required(fields, "timezone", Zone::read);
    let interval = reader.required(fields, "interval", Delta::read);
    let run_immediately = read_run_immediately(reader, fields);
    let (zone, interval, run_immediately) = (zone?, interval?, run_immediately?);
    let triggers = expressions?.into_iter().map(|(expression, cron)| CronTrigger {
        cron: ZonedCron::of_parsed(expression, cron, zone.clone()),
        interval: interval.clone(),
        run_immediately,
    });
    MultipleCronTrigger::new(triggers.collect())
}

fn read_cron_partition<'v>(reader: &mut Reader<'v>, fields: &'v Value<'v>) -> Option<CronPartition> {
    let cron = read_cron(reader, fields);
    let run_immediately = read_run_immediately(reader, fields);
    let run_offset = read_run_offset(reader, fields);
    let key_format = reader.required(fields, "key_format", Reader::text);
    let interval = Delta::Fixed(SignedDuration::ZERO);
    let trigger = CronTrigger { cron: cron?, interval, run_immediately: run_immediately? };
    Some(CronPartition { trigger, run_offset: run_offset?, key_format: key_format?.into() })
}

/// Anything but an integer counts as none, as it does in Airflow; an integer beyond 63 bits is a float here.
fn read_run_offset<'v>(reader: &mut Reader<'v>, fields: &'v Value<'v>) -> Option<i32> {
    let offset = match fields.get("run_offset") {
        Some(Value::Int(offset)) => i32::try_from(*offset).ok(),
        Some(Value::Float(offset)) if offset.fract() == 0.0 && offset.abs() >= 9e18 => None,
        _ => Some(0),
    };
    let offset = offset.filter(|offset| (-MAX_OFFSET..=MAX_OFFSET).contains(offset));
    if offset.is_none() {
        reader.within("run_offset", |reader| {
            reader.problem(format_args!("a partition lies at most {MAX_OFFSET} ticks from its run"));
        });
    }
    offset
}

fn read_events<'v>(reader: &mut Reader<'v>, fields: &'v Value<'v>) -> Option<Events> {
    let dates = reader.required(fields, "event_dates", |reader, dates| reader.list(dates, read_event))?;
    let restrict_to_events = reader.required(fields, "restrict_to_events", Reader::boolean);
    let description = reader.optional(fields, "description", Reader::text);
    let summary = reader.optional(fields, "_summary", Reader::text);
    // The class for DAG files leaves out the summary, and Airflow cannot read what it wrote.
    let summary = summary.or(description).map_or_else(|| format!("{} events", dates.len()), str::to_owned);
    let description = match (description, dates.first(), dates.last()) {
        (Some(description), _, _) => description.to_owned(),
        (None, Some(&(first, first_offset)), Some(&(last, last_offset))) => format!(
            "{} events between {} and {}",
            dates.len(),
            iso_format(first, first_offset),
            iso_format(last, last_offset)
        ),
        (None, _, _) => "No events".to_owned(),
    };
    let dates = dates.into_iter().map(|(date, _)| date).collect();
    Some(Events::new(dates, restrict_to_events?, description, summary))
}

/// An instant, and the offset in which it is written.
fn read_event<'v>(reader: &mut Reader<'v>, date: &'v Value<'v>) -> Option<(Timestamp, Offset)> {
    let text = reader.text(date)?;
    let event = Pieces::parse(text).ok().and_then(|pieces| {
        let offset = pieces.to_numeric_offset()?;
        let wall = pieces.date().to_datetime(pieces.time()?);
        let since_1970 = wall.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0));
        let since_1970 = since_1970.checked_sub(SignedDuration::from_secs(offset.seconds().into()))?;
        Some((python_instant(since_1970)?, offset))
    });
    if event.is_none() {
        reader.problem(format_args!("{text:?} is not a time with an offset from UTC"));
    }
    event
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decoded(class: &str, fields: &serde_json::Value) -> Result<Timetable, String> {
        let document = json!({"__type": class, "__var": fields});
        Timetable::decode(&document.to_string()).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_class_of_somebody_s_own_is_carried_along() {
        let timetable =
            decoded("company.calendar.Trading", &json!({"market": "XNYS", "late": [1, 2.0]})).unwrap();
        let Timetable::Custom(custom) = &timetable else { panic!("{timetable:?}") };
        assert_eq!(custom.class, "company.calendar.Trading");
        assert_eq!(custom.data.text(), r#"{"market": "XNYS", "late": [1, 2.0]}"#);
        assert_eq!(timetable.type_name(), "company.calendar.Trading");
        assert_eq!(timetable.summary(), "Trading");
        let refusal = timetable.manual_interval(Timestamp::UNIX_EPOCH).unwrap_err().to_string();
        assert!(refusal.starts_with("company.calendar.Trading is a timetable of its own"), "{refusal}");
    }

    #[test]
    fn problems_are_found_in_all_the_fields_at_once() {
        let fields = json!({"expression": "61 * * * *", "timezone": "Mars/Olympus", "interval": "1 day",
                            "run_immediately": []});
        assert_eq!(
            decoded("airflow.timetables.trigger.CronTriggerTimetable", &fields).unwrap_err(),
            "expression: minute \"61\": 61 is outside 0-59\n\
             timezone: \"Mars/Olympus\" is not a time zone of the IANA database (such as Europe/London)\n\
             interval: expected a number of seconds or an object, found a string\n\
             run_immediately: expected a boolean or a number of seconds, found a list"
        );
        let fields = json!({"expressions": ["0 0 * * *", "0 24 * * *", 5], "timezone": 86400, "interval": 0,
                            "run_immediately": null});
        assert_eq!(
            decoded("airflow.timetables.trigger.MultipleCronTriggerTimetable", &fields).unwrap_err(),
            "expressions[1]: hour \"24\": 24 is outside 0-23\n\
             expressions[2]: expected a string, found an integer\n\
             timezone: 86400 seconds is not an offset from UTC"
        );
        assert_eq!(
            decoded("airflow.timetables.lunar.FullMoon", &json!({})).unwrap_err(),
            "__type: airflow.timetables.lunar.FullMoon is not a timetable of Airflow 3.3.2"
        );
        let offset =
            json!({"expression": "@daily", "timezone": "UTC", "run_offset": 1_000_000, "key_format": ""});
        assert_eq!(
            decoded("airflow.timetables.trigger.CronPartitionTimetable", &offset).unwrap_err(),
            "run_offset: a partition lies at most 100000 ticks from its run"
        );
        assert_eq!(Timetable::decode("{}").unwrap_err().to_string(), "__type: is missing\n__var: is missing");
    }

    #[test]
    fn events_written_by_a_dag_file_need_no_summary() {
        let fields = json!({"event_dates": ["2024-01-01T00:00:00+01:00"], "restrict_to_events": true,
                            "description": "Finals"});
        let timetable = decoded("airflow.timetables.events.EventsTimetable", &fields).unwrap();
        assert_eq!(timetable.summary(), "Finals");
        let fields = json!({"event_dates": ["2024-01-01T00:00:00+01:00", "2024-02-01T00:00:00.5+00:00"],
                            "restrict_to_events": true, "description": null});
        let timetable = decoded("airflow.timetables.events.EventsTimetable", &fields).unwrap();
        assert_eq!(timetable.summary(), "2 events");
        assert_eq!(
            timetable.description(),
            "2 events between 2024-01-01T00:00:00+01:00 and 2024-02-01T00:00:00.500000+00:00"
        );
    }

    #[test]
    fn an_event_at_the_end_of_time_is_an_event() {
        let fields = json!({"event_dates": ["2030-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"],
                            "restrict_to_events": false, "description": "d", "_summary": "s"});
        let timetable = decoded("airflow.timetables.events.EventsTimetable", &fields).unwrap();
        let Timetable::Events(events) = &timetable else { panic!("{timetable:?}") };
        assert_eq!(events.dates()[1].to_string(), "9999-12-30T22:00:00.999999Z");
        let fields = json!({"event_dates": ["2030-01-01", "2030-01-01T00:00:00", "+10000-01-01T00:00:00+00:00"],
                            "restrict_to_events": false});
        let problems = decoded("airflow.timetables.events.EventsTimetable", &fields).unwrap_err();
        assert_eq!(problems.lines().count(), 3, "{problems}");
    }

    #[test]
    fn only_a_float_is_a_time_to_run_immediately() {
        for (value, expected) in [
            (json!(true), RunImmediately::Always),
            (json!(600.0), RunImmediately::Within(SignedDuration::from_mins(10))),
            (json!(600), RunImmediately::WithinATenth),
            (json!(false), RunImmediately::WithinATenth),
            (json!(null), RunImmediately::WithinATenth),
        ] {
            let fields =
                json!({"expression": "@daily", "timezone": 19800, "interval": 0.0, "run_immediately": value});
            let timetable = decoded("airflow.timetables.trigger.CronTriggerTimetable", &fields).unwrap();
            let Timetable::CronTrigger(trigger) = timetable else { panic!("{timetable:?}") };
            assert_eq!(trigger.run_immediately, expected, "{value}");
            assert_eq!(trigger.cron.expression(), "0 0 * * *");
        }
    }
}
