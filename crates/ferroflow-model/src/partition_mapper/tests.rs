use super::*;
use crate::document::decode;

fn mapper(text: &str) -> Result<PartitionMapper, String> {
    decode(text, PartitionMapper::read).map_err(|problems| problems.to_string())
}

fn built_in(class: &str, data: &str) -> String {
    format!(r#"{{"__type": "airflow.partition_mappers.{class}", "__var": {data}}}"#)
}

const DAY: &str = r#"{"timezone": "Europe/Paris", "input_format": "%Y", "output_format": "%d"}"#;
const WEEK: &str = r#"{"direction": "forward"}"#;

#[test]
fn every_period_has_a_mapper() {
    for period in Period::ALL {
        let text = built_in(&format!("temporal.StartOf{period}Mapper"), DAY);
        let expected = MapperKind::StartOf {
            period: *period,
            timezone: Zone::named("Europe/Paris").unwrap(),
            input_format: "%Y".to_owned(),
            output_format: "%d".to_owned(),
        };
        assert_eq!(mapper(&text), Ok(PartitionMapper { kind: expected, max_downstream_keys: None }));
    }
}

#[test]
fn mappers_nest() {
    let day = built_in("temporal.StartOfDayMapper", DAY);
    let identity = built_in("identity.IdentityMapper", r#"{"max_downstream_keys": 7}"#);
    let allowed = built_in("allowed_key.AllowedKeyMapper", r#"{"allowed_keys": ["a", "b"]}"#);
    let fixed = built_in("fixed_key.FixedKeyMapper", r#"{"downstream_key": "all"}"#);
    let window = built_in("window.WeekWindow", WEEK);
    let segments = built_in("window.SegmentWindow", r#"{"segments": ["eu", "us"]}"#);
    let most = built_in("wait_policy.MinimumCount", r#"{"n": -2}"#);
    let chain = built_in("chain.ChainMapper", &format!(r#"{{"mappers": [{identity}, {allowed}]}}"#));
    let product = built_in("product.ProductMapper", &format!(r#"{{"mappers": [{chain}, {fixed}]}}"#));
    let fan_out = format!(r#"{{"upstream_mapper": {day}, "window": {window}, "downstream_mapper": {day}}}"#);
    let fan_out = mapper(&built_in("temporal.FanOutMapper", &fan_out)).unwrap();
    assert!(!fan_out.is_rollup());
    let MapperKind::Product { mappers, delimiter } = mapper(&product).unwrap().kind else { panic!() };
    assert_eq!(delimiter, "|");
    let MapperKind::Chain(chain) = &mappers[0].kind else { panic!() };
    assert_eq!(chain[0].max_downstream_keys, Some(7));

    let rollup = format!(r#"{{"upstream_mapper": {fixed}, "window": {segments}, "wait_policy": {most}}}"#);
    let rollup = mapper(&built_in("base.RollupMapper", &rollup)).unwrap();
    assert!(rollup.is_rollup());
    let MapperKind::Rollup { window, wait, .. } = rollup.kind else { panic!() };
    assert_eq!(window, Window::Segments(vec!["eu".to_owned(), "us".to_owned()]));
    assert_eq!(wait, WaitPolicy::AtLeast(NonZeroI32::new(-2).unwrap()));
}

#[test]
fn a_class_of_somebodys_own_is_kept_as_it_is() {
    let custom = mapper(r#"{"__type": "mine.Mapper", "__var": {"x": 1}}"#).unwrap();
    assert!(!custom.is_rollup());
    assert!(matches!(custom.kind, MapperKind::Custom { class, data }
        if class == "mine.Mapper" && data.text() == r#"{"x": 1}"#));
}

#[test]
fn what_airflow_would_refuse_is_refused() {
    let cases = [
        (
            built_in("base.Nope", "{}"),
            r#"__type: "airflow.partition_mappers.base.Nope" is not a partition mapper of Airflow"#,
        ),
        (built_in("chain.ChainMapper", r#"{"mappers": []}"#), "mappers: needs at least two mappers"),
        (
            built_in("identity.IdentityMapper", r#"{"max_downstream_keys": 0}"#),
            "max_downstream_keys: must be at least 1",
        ),
        (
            built_in("fixed_key.FixedKeyMapper", r#"{"downstream_key": ""}"#),
            "downstream_key: must not be empty",
        ),
        (built_in("identity.IdentityMapper", "[]"), "__var: expected an object, found a list"),
    ];
    for (text, expected) in cases {
        assert_eq!(mapper(&text).unwrap_err(), expected);
    }
}

#[test]
fn a_rollup_is_checked_part_by_part() {
    let rollup = |upstream: &str, window: &str, wait: &str| {
        let data = format!(r#"{{"upstream_mapper": {upstream}, "window": {window}, "wait_policy": {wait}}}"#);
        mapper(&built_in("base.RollupMapper", &data))
    };
    let day = built_in("temporal.StartOfDayMapper", DAY);
    let segments = built_in("window.SegmentWindow", r#"{"segments": ["eu"]}"#);
    let all = built_in("wait_policy.WaitForAll", "{}");
    assert_eq!(
        rollup(&day, &segments, &all).unwrap_err(),
        "window: is made of text, but the mapper gives times"
    );
    let mine = r#"{"__type": "mine.Window", "__var": {}}"#;
    assert!(rollup(&day, mine, &all).is_ok(), "only Python knows what it is made of");
    let none = built_in("wait_policy.MinimumCount", r#"{"n": 0}"#);
    let empty = built_in("window.SegmentWindow", r#"{"segments": []}"#);
    let sideways = built_in("window.WeekWindow", r#"{"direction": "sideways"}"#);
    assert_eq!(rollup("{}", &empty, mine).unwrap_err().lines().count(), 4);
    assert_eq!(
        rollup(&day, &sideways, &none).unwrap_err(),
        "window.direction: \"sideways\" is not a direction of a window (known: backward, forward)\n\
         wait_policy.n: must not be 0"
    );
}
