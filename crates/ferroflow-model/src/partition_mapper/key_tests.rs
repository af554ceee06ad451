use proptest::prelude::*;

use super::*;
use crate::timetable::{KeyMismatch, PartitionDate, PartitionedAsset, Timetable};

fn mapper(kind: MapperKind) -> PartitionMapper {
    PartitionMapper { kind, max_downstream_keys: None }
}

fn start_of(period: Period, zone: &str, output_format: &str) -> PartitionMapper {
    mapper(MapperKind::StartOf {
        period,
        timezone: Zone::named(zone).unwrap(),
        input_format: "%Y-%m-%dT%H:%M:%S".to_owned(),
        output_format: output_format.to_owned(),
    })
}

fn default(period: Period) -> PartitionMapper {
    start_of(period, "UTC", period.default_output_format())
}

fn rollup(upstream: PartitionMapper, period: Period, direction: Direction) -> PartitionMapper {
    let window = Window::Period { period, direction };
    mapper(MapperKind::Rollup { upstream: Box::new(upstream), window, wait: WaitPolicy::All })
}

fn fan_out(upstream: PartitionMapper, window: Window, downstream: PartitionMapper) -> PartitionMapper {
    mapper(MapperKind::FanOut { upstream: Box::new(upstream), window, downstream: Box::new(downstream) })
}

fn identity() -> PartitionMapper {
    mapper(MapperKind::Identity)
}

fn one(mapper: &PartitionMapper, key: &str) -> String {
    let keys = mapper.to_downstream(key).unwrap();
    assert_eq!(keys.len(), 1);
    keys.into_iter().next().unwrap()
}

/// How many keys a period is made of, and the first and the last of them.
fn span(mapper: &PartitionMapper, key: &str) -> (usize, String, String) {
    let keys = mapper.to_upstream(key).unwrap().unwrap();
    (keys.len(), keys.first().unwrap().clone(), keys.last().unwrap().clone())
}

#[test]
fn keys_become_the_start_of_their_period() {
    for (period, expected) in [
        (Period::Hour, "2024-05-15T10"),
        (Period::Day, "2024-05-15"),
        (Period::Week, "2024-05-13 (W20)"),
        (Period::Month, "2024-05"),
        (Period::Quarter, "2024-Q2"),
        (Period::Year, "2024"),
    ] {
        assert_eq!(one(&default(period), "2024-05-15T10:42:15"), expected);
    }
    let week = start_of(Period::Week, "Asia/Tokyo", "%Y-%m-%d %H:%M:%S");
    assert_eq!(one(&week, "2024-01-01T10:42:15"), "2024-01-01 00:00:00");
    let offset = start_of(Period::Day, "America/New_York", "%Y-%m-%d %Z%z");
    assert_eq!(one(&offset, "2024-07-01T03:00:00"), "2024-07-01 EDT-0400");
}

#[test]
fn a_key_that_says_where_it_is_from_is_looked_at_in_the_zone() {
    let mut day = start_of(Period::Day, "America/New_York", "%Y-%m-%d %z");
    if let MapperKind::StartOf { input_format, .. } = &mut day.kind {
        input_format.push_str("%z");
    }
    assert_eq!(one(&day, "2024-07-01T03:00:00+0000"), "2024-06-30 -0400");
    assert_eq!(day.to_downstream("0001-01-01T00:00:00+00:01"), Err(KeyProblem::OutOfRange));
}

#[test]
fn periods_are_made_of_their_parts() {
    use Direction::{Backward, Forward};
    let first = |period, direction, key: &str| {
        let (count, first, last) = span(&rollup(default(period), period, direction), key);
        format!("{count} {first} {last}")
    };
    assert_eq!(first(Period::Hour, Forward, "2024-03-01T05"), "60 2024-03-01T05:00:00 2024-03-01T05:59:00");
    assert_eq!(first(Period::Hour, Backward, "2024-03-01T05"), "60 2024-03-01T04:01:00 2024-03-01T05:00:00");
    assert_eq!(first(Period::Day, Forward, "2024-03-01"), "24 2024-03-01T00:00:00 2024-03-01T23:00:00");
    assert_eq!(
        first(Period::Week, Backward, "2024-03-04 (W10)"),
        "7 2024-02-27T00:00:00 2024-03-04T00:00:00"
    );
    assert_eq!(first(Period::Month, Forward, "2024-02"), "29 2024-02-01T00:00:00 2024-02-29T00:00:00");
    assert_eq!(first(Period::Month, Backward, "2024-03"), "29 2024-02-02T00:00:00 2024-03-01T00:00:00");
    assert_eq!(first(Period::Quarter, Forward, "2024-Q4"), "3 2024-10-01T00:00:00 2024-12-01T00:00:00");
    assert_eq!(first(Period::Quarter, Backward, "2024-Q1"), "3 2023-11-01T00:00:00 2024-01-01T00:00:00");
    assert_eq!(first(Period::Year, Forward, "2024"), "12 2024-01-01T00:00:00 2024-12-01T00:00:00");
    assert_eq!(identity().to_upstream("k"), Ok(None));
}

#[test]
fn an_hour_that_is_skipped_is_waited_for_under_the_name_of_the_next() {
    let day = rollup(start_of(Period::Day, "America/New_York", "%Y-%m-%d"), Period::Day, Direction::Forward);
    let spring = day.to_upstream("2024-03-10").unwrap().unwrap();
    assert_eq!(spring.len(), 23);
    assert!(!spring.contains("2024-03-10T02:00:00"));
    assert_eq!(day.to_upstream("2024-11-03").unwrap().unwrap().len(), 24);
}

#[test]
fn what_is_counted_in_months_begins_with_a_first_day() {
    let day = start_of(Period::Day, "UTC", "%Y-%m-%d");
    for period in [Period::Month, Period::Quarter, Period::Year] {
        let problem = rollup(day.clone(), period, Direction::Forward).to_upstream("2024-03-31").unwrap_err();
        assert_eq!(problem, KeyProblem::NotAFirstDay { date: "2024-03-31".to_owned() });
    }
}

#[test]
fn the_calendar_has_ends() {
    use Direction::{Backward, Forward};
    let ends = [
        (Period::Hour, Forward, "9999-12-31T23", true),
        (Period::Day, Forward, "9999-12-31", true),
        (Period::Week, Forward, "9999-12-27 (W52)", false),
        (Period::Month, Forward, "9999-12", false),
        (Period::Quarter, Forward, "9999-Q4", true),
        (Period::Year, Forward, "9999", true),
        (Period::Hour, Backward, "0001-01-01T00", false),
        (Period::Month, Backward, "0001-01", false),
        (Period::Month, Backward, "0001-02", true),
        (Period::Year, Backward, "0001", false),
    ];
    for (period, direction, key, is_within) in ends {
        let keys = rollup(default(period), period, direction).to_upstream(key);
        assert_eq!(keys.is_ok(), is_within, "{period} {direction} {key}: {keys:?}");
    }
}

#[test]
fn mappers_work_together() {
    let product = |mappers| mapper(MapperKind::Product { mappers, delimiter: "|".to_owned() });
    let both = product(vec![default(Period::Day), mapper(MapperKind::AllowedKeys(vec!["eu".to_owned()]))]);
    assert_eq!(one(&both, "2024-03-10T05:00:00|eu"), "2024-03-10|eu");
    assert_eq!(
        both.to_downstream("2024-03-10T05:00:00|us").unwrap_err().to_string(),
        "`us` is not one of the allowed keys: eu"
    );
    let problem = both.to_downstream("eu").unwrap_err();
    assert_eq!(problem, KeyProblem::Segments { key: "eu".to_owned(), found: 1, expected: 2 });
    let fixed = mapper(MapperKind::FixedKey("2024-03-04T00:00:00".to_owned()));
    let chain = mapper(MapperKind::Chain(vec![fixed, default(Period::Week)]));
    assert_eq!(one(&chain, "anything"), "2024-03-04 (W10)");

    let week = Window::Period { period: Period::Week, direction: Direction::Forward };
    let days = fan_out(default(Period::Week), week.clone(), default(Period::Day));
    let keys = days.to_downstream("2024-03-06T12:00:00").unwrap();
    assert_eq!((keys.len(), keys[0].as_str(), keys[6].as_str()), (7, "2024-03-04", "2024-03-10"));
    assert_eq!(
        product(vec![days.clone(), identity()]).to_downstream("2024-03-06T12:00:00|x"),
        Err(KeyProblem::SeveralKeys)
    );
    let plain = fan_out(default(Period::Week), week.clone(), identity());
    assert_eq!(plain.to_downstream("2024-03-06T12:00:00").unwrap()[1], "2024-03-05T00:00:00");
    assert_eq!(fan_out(identity(), week, identity()).to_downstream("x"), Err(KeyProblem::NotATime));
    let segments = Window::Segments(vec!["us".to_owned(), "eu".to_owned(), "us".to_owned()]);
    assert_eq!(fan_out(identity(), segments, identity()).to_downstream("x").unwrap(), ["eu", "us"]);
}

#[test]
fn a_chain_does_not_fill_the_memory() {
    let hour = Window::Period { period: Period::Hour, direction: Direction::Forward };
    let minute = start_of(Period::Hour, "UTC", "%Y-%m-%dT%H:%M:%S");
    let chain = mapper(MapperKind::Chain(vec![fan_out(minute.clone(), hour, minute); 20]));
    assert_eq!(chain.to_downstream("2024-03-06T12:00:00"), Err(KeyProblem::TooManyKeys { most: 100_000 }));
}

#[test]
fn placeholders_are_read_back_as_airflow_reads_them() {
    let read = |period, format: &str, key: &str| {
        let mapper = start_of(period, "UTC", format);
        mapper.date(key).map(|date| date.unwrap().wall.date().to_string())
    };
    let quarter = |format: &str, key: &str| read(Period::Quarter, format, key);
    assert_eq!(quarter("%Y-Q{quarter}", "2024-Q3"), Ok("2024-07-01".to_owned()));
    assert_eq!(quarter("%Y-Q{quarter}", "2024-Q3\n"), Ok("2024-07-01".to_owned()));
    assert_eq!(quarter("%Y-Q{quarter}", "٢٠٢٤-Q1"), Ok("2024-01-01".to_owned()));
    for key in ["2024-Q5", "2024-q1", " 2024-Q1", "2024-Q1\n\n", "024-Q1"] {
        let expected = KeyMismatch::NoMatch { key: key.to_owned(), format: "%Y-Q{quarter}".to_owned() };
        assert_eq!(quarter("%Y-Q{quarter}", key), Err(expected.into()));
    }
    assert!(matches!(quarter("%Y-Q{quarter}", "0000-Q1"), Err(KeyProblem::Mismatch(_))));
    assert_eq!(
        quarter("%Y", "2024").unwrap_err().to_string(),
        "`%Y` does not say which date a key is of; it needs %Y and {quarter}"
    );
    let week = |format: &str, key: &str| read(Period::Week, format, key);
    assert_eq!(week("{x} %d.%m.%Y", "Week_11 13.03.2024"), Ok("2024-03-11".to_owned()));
    assert_eq!(week("{Y}-{m}-{d}", "2_024-3-13"), Ok("2024-03-11".to_owned()));
    assert!(week("{Y}-{m}-{d}", "2024-3_-13").is_err());
    assert!(week("%Y-%m-%d %j", "2024-03-13 073").is_err());
    assert_eq!(week("%Y-%m-%d %j", "2024-03-13 %j"), Ok("2024-03-11".to_owned()));
}

#[test]
fn braces_of_quarters_are_python_s() {
    let written =
        |format: &str| start_of(Period::Quarter, "UTC", format).to_downstream("2024-12-01T00:00:00");
    assert_eq!(written("%Y}}{{{quarter}"), Ok(vec!["2024}{4".to_owned()]));
    assert_eq!(written("%Y}"), Err(FormatProblem::SingleBrace.into()));
    assert_eq!(written("{ %Y"), Err(FormatProblem::SingleBrace.into()));
    assert_eq!(written("{half}"), Err(FormatProblem::Unknown("half".to_owned()).into()));
}

#[test]
fn formats_that_cannot_be_read_back_are_refused_with_the_dag() {
    let refused = |format: &str| {
        let data = format!(r#"{{"input_format": "%Y", "output_format": "{format}"}}"#);
        let text = format!(r#"{{"__type": "{MAPPERS}temporal.StartOfWeekMapper", "__var": {data}}}"#);
        crate::document::decode(&text, PartitionMapper::read).unwrap_err().to_string()
    };
    assert_eq!(refused("%Y %Y"), "output_format: the output format has %Y more than once");
    assert_eq!(refused("{Y} %Y"), "output_format: the output format has %Y more than once");
    assert_eq!(
        refused("{a b}"),
        "output_format: `{a b}` in the output format is not a name of letters, digits and `_` in braces"
    );
    assert_eq!(
        refused("{a}{b}"),
        "output_format: nothing stands between `{b}` in the output format and the name before it"
    );
}

#[test]
fn whoever_writes_a_key_knows_its_date() {
    let date = |mapper: &PartitionMapper, key: &str| {
        mapper.date(key).map(|date| date.and_then(|date| date.instant()).map(|at| at.to_string()))
    };
    let day = Ok(Some("2024-03-10T00:00:00Z".to_owned()));
    let month = Ok(Some("2024-03-01T00:00:00Z".to_owned()));
    let week = Window::Period { period: Period::Week, direction: Direction::Forward };
    let chain = mapper(MapperKind::Chain(vec![default(Period::Month), default(Period::Day)]));
    assert_eq!(date(&chain, "2024-03-10"), day);
    assert_eq!(date(&fan_out(default(Period::Month), week, default(Period::Day)), "2024-03-10"), day);
    assert_eq!(date(&rollup(default(Period::Month), Period::Month, Direction::Forward), "2024-03"), month);
    let product = |mappers| mapper(MapperKind::Product { mappers, delimiter: "|".to_owned() });
    let one_time = product(vec![identity(), default(Period::Day)]);
    assert_eq!(date(&one_time, "eu|2024-03-10"), day);
    assert_eq!(date(&one_time, "2024-03-10"), Ok(None));
    assert_eq!(date(&product(vec![default(Period::Day); 2]), "2024-03-10|2024-03-10"), Ok(None));
    assert_eq!(identity().carries_partition_date(), Ok(true));
    assert_eq!(chain.carries_partition_date(), Ok(false));
    let zoned = start_of(Period::Day, "America/New_York", "%Y-%m-%d%z");
    assert_eq!(date(&zoned, "2024-03-10+0100"), Ok(Some("2024-03-09T23:00:00Z".to_owned())));
}

#[test]
fn keys_with_an_offset_are_waited_for_as_the_second_of_two() {
    let hour = start_of(Period::Hour, "Europe/Paris", "%Y-%m-%dT%H%z");
    let MapperKind::StartOf { period, timezone, output_format, .. } = hour.kind else { panic!() };
    let input_format = "%Y-%m-%dT%H:%M:%S%z".to_owned();
    let hour = mapper(MapperKind::StartOf { period, timezone, input_format, output_format });
    let (count, first, last) = span(&rollup(hour, Period::Hour, Direction::Forward), "2024-10-27T00+0000");
    assert_eq!(
        (count, first.as_str(), last.as_str()),
        (60, "2024-10-27T02:00:00+0100", "2024-10-27T02:59:00+0100")
    );
}

#[test]
fn a_list_of_one_that_went_through_a_chain_is_one_key() {
    let segments = Window::Segments(vec!["eu".to_owned()]);
    let list = fan_out(identity(), segments, identity());
    let product =
        |part| mapper(MapperKind::Product { mappers: vec![part, identity()], delimiter: "|".to_owned() });
    assert_eq!(product(list.clone()).to_downstream("x|y"), Err(KeyProblem::SeveralKeys));
    let chain = mapper(MapperKind::Chain(vec![list, identity()]));
    assert_eq!(one(&product(chain), "x|y"), "eu|y");
}

#[test]
fn what_is_written_is_what_airflow_would_write() {
    let segments = Window::Segments(vec!["us".to_owned(), "eu".to_owned(), "us".to_owned()]);
    let wait = WaitPolicy::AtLeast(NonZeroI32::new(-2).unwrap());
    let kind = MapperKind::Rollup { upstream: Box::new(identity()), window: segments, wait };
    let encoded = PartitionMapper { kind, max_downstream_keys: Some(7) }.encode();
    let expected = serde_json::json!({"__type": "airflow.partition_mappers.base.RollupMapper", "__var": {
        "upstream_mapper": {"__type": "airflow.partition_mappers.identity.IdentityMapper", "__var": {}},
        "window": {"__type": "airflow.partition_mappers.window.SegmentWindow",
                   "__var": {"segments": ["eu", "us"]}},
        "wait_policy": {"__type": "airflow.partition_mappers.wait_policy.MinimumCount", "__var": {"n": -2}},
        "max_downstream_keys": 7,
    }});
    assert_eq!(encoded, expected);
    for (zone, expected) in [
        (Zone::fixed(19_800).unwrap(), serde_json::json!(19_800)),
        (Zone::named("utc").unwrap(), "UTC".into()),
        (Zone::named("Europe/Paris").unwrap(), "Europe/Paris".into()),
    ] {
        assert_eq!(zone.encode(), expected);
    }
}

#[test]
fn a_format_that_is_empty_is_one_that_was_not_given() {
    for period in Period::ALL {
        let data = r#"{"input_format": "%Y", "output_format": ""}"#;
        let text = format!(r#"{{"__type": "{MAPPERS}temporal.StartOf{period}Mapper", "__var": {data}}}"#);
        let mapper = crate::document::decode(&text, PartitionMapper::read).unwrap();
        let written = &mapper.encode()["__var"]["output_format"];
        assert_eq!(written, period.default_output_format());
    }
}

#[test]
fn assets_that_disagree_have_no_date() {
    let asset = |name: &str| {
        serde_json::json!({"__type": "asset", "name": name, "uri": "u", "group": "g", "extra": {}})
            .to_string()
    };
    let partitioned = |first: &PartitionMapper, other: &PartitionMapper| {
        let text = format!(
            r#"{{"__type": "airflow.timetables.simple.PartitionedAssetTimetable", "__var": {{
                "asset_condition": {{"__type": "asset_any", "objects": [{a}, {b}]}},
                "partition_mapper_config": [[{a}, {}]], "default_partition_mapper": {}}}}}"#,
            first.encode(),
            other.encode(),
            a = asset("a"),
            b = asset("b"),
        );
        Timetable::decode(&text).unwrap()
    };
    let of = |timetable: &Timetable, key: &str| {
        timetable.partition_date(key).map(|date| date.map(|at| at.to_string()))
    };
    let utc = default(Period::Day);
    let paris = start_of(Period::Day, "Europe/Paris", "%Y-%m-%d");
    let at = Ok(Some("2024-07-01T00:00:00Z".to_owned()));
    assert_eq!(of(&partitioned(&utc, &identity()), "2024-07-01"), at);
    assert_eq!(of(&partitioned(&utc, &utc), "2024-07-01"), at);
    assert_eq!(of(&partitioned(&utc, &paris), "2024-07-01"), Ok(None));
    assert_eq!(of(&partitioned(&identity(), &identity()), "2024-07-01"), Ok(None));
    assert!(of(&partitioned(&identity(), &utc), "July").is_err());
    let fingerprint = partitioned(&utc, &paris).rollup_fingerprint().unwrap();
    assert_eq!(fingerprint, serde_json::json!({"a|u": utc.encode(), "b|u": paris.encode()}));
    assert_eq!(Timetable::Once.rollup_fingerprint().unwrap(), serde_json::json!({}));
    let Timetable::PartitionedAsset(both) = partitioned(&utc, &paris) else { panic!() };
    let some = |names: &[&'static str]| {
        PartitionedAsset::date_for(&both, names.iter().map(|name| (*name, "")), "2024-07-01")
    };
    assert_eq!(some(&["a", "b"]), Ok(PartitionDate::Conflict));
    assert_eq!(some(&["b"]), Ok(PartitionDate::At("2024-06-30T22:00:00Z".parse().unwrap())));
    assert_eq!(some(&[]), Ok(PartitionDate::NotATime));
}

proptest! {
    #[test]
    fn no_key_and_no_format_is_too_much(
        period in 0_usize..6,
        window in 0_usize..6,
        backward: bool,
        zone in prop::sample::select(vec!["UTC", "America/New_York", "Pacific/Apia", "Africa/Monrovia"]),
        input in "(%[a-zA-Z%]|[-:T .0-9{}é%]){0,8}|\\PC{0,6}",
        output in "(%[YmdHMSVUWjzZf]|\\{(quarter|x|)\\}|[-: {}é%]){0,6}",
        key in "[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2})?|[0-9TZ:+. -]{0,20}|\\PC{0,12}",
    ) {
        let mut start = start_of(Period::ALL[period], zone, &output);
        let (period, direction) =
            (Period::ALL[window], if backward { Direction::Backward } else { Direction::Forward });
        let read_back = rollup(start.clone(), period, direction);
        if let MapperKind::StartOf { input_format, .. } = &mut start.kind {
            *input_format = input;
        }
        let window = Window::Period { period, direction };
        let mappers = [start.clone(), rollup(start.clone(), period, direction), fan_out(start.clone(), window, start)];
        for mapper in mappers.iter().chain([&read_back]) {
            let _ = (mapper.to_downstream(&key), mapper.to_upstream(&key), mapper.date(&key));
            let _ = (read_back.to_upstream(&output), mapper.encode());
        }
    }
}
