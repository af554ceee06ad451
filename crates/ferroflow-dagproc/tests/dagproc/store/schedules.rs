//! What becomes of runs when files are parsed between them: the processor writes what is next, a scheduler makes it.

use std::collections::{BTreeSet, HashMap};

use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::{Json, ScopedFutureExt as _, dag};
use ferroflow_model::dag::Dag;
use ferroflow_model::runs::create::{DagFacts, NewRun, Verdict, decide};
use ferroflow_model::runs::next::next_run_after;
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::timetable::{DataInterval, RunInfo};
use ferroflow_testkit::Server;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde_json::json;

use crate::store::given::{Place, file, settings};

ferroflow_testkit::on_every_database!(
    example_daily_gets_its_runs_at_midnight,
    a_dag_that_was_paused_goes_on_as_catchup_says,
    a_dag_with_all_the_runs_that_it_may_have_gets_none,
);

/// A DAG whose file is parsed, and whose runs a scheduler makes.
struct Site {
    place: Place,
    document: Json,
    /// The runs, with their logical dates,
    made: Vec<(i64, Timestamp)>,
    /// and what each works on.
    intervals: HashMap<i64, DataInterval>,
    finishes_runs: bool,
}

fn at(text: &str) -> Timestamp {
    format!("{text}Z").parse().unwrap()
}

fn cron(expression: &str) -> String {
    format!(
        r#"{{"__type": "airflow.timetables.interval.CronDataIntervalTimetable",
        "__var": {{"expression": "{expression}", "timezone": "UTC"}}}}"#
    )
}

impl Site {
    async fn new(server: Server) -> Self {
        let place = Place::new(server).await;
        Self {
            place,
            document: Json::null(),
            made: Vec::new(),
            intervals: HashMap::new(),
            finishes_runs: true,
        }
    }

    /// Parses the file, in which the schedule and the fields are these now.
    async fn parse(&mut self, timetable: &str, fields: &str, now: Timestamp) {
        let fields = format!(r#""start_date": 1704067200.0, "is_paused_upon_creation": false, {fields}"#);
        self.document = self.place.dag("example_daily", &fields, timetable);
        let parsed = file("file.py", vec![self.document.clone()]);
        let stored = self.place.store(parsed, &settings(), now).await;
        assert_eq!(stored.dags.len(), 1, "{stored:?}");
    }

    fn dag(&self) -> Dag {
        Dag::decode(self.document.text()).unwrap()
    }

    /// `next_dagrun` and `next_dagrun_create_after`.
    async fn next(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let row = self.place.row("example_daily").await;
        assert_eq!(row.next_dagrun, row.next_dagrun_data_interval_start);
        (row.next_dagrun, row.next_dagrun_create_after)
    }

    /// As the scheduler does: makes the run that is due and moves the schedule on, until none is due.
    async fn schedule(&mut self, now: Timestamp) -> Vec<Timestamp> {
        let before = self.made.len();
        while self.tick(now).await {}
        self.made[before..].iter().map(|(_, date)| *date).collect()
    }

    async fn tick(&mut self, now: Timestamp) -> bool {
        let row = self.place.row("example_daily").await;
        let interval = row.next_dagrun_data_interval_start.zip(row.next_dagrun_data_interval_end);
        let facts = DagFacts {
            dag_id: &row.dag_id,
            is_paused: row.is_paused,
            is_stale: row.is_stale,
            has_import_errors: row.has_import_errors == Some(true),
            max_active_runs: row.max_active_runs,
            active_runs: if self.finishes_runs { 0 } else { u32::try_from(self.made.len()).unwrap() },
            active_backfill_runs: 0,
            next_dagrun_create_after: row.next_dagrun_create_after,
            next_dagrun: row.next_dagrun,
            next_dagrun_data_interval: interval.map(|(start, end)| DataInterval { start, end }),
            next_dagrun_partition_key: None,
            next_dagrun_partition_date: None,
            next_dagrun_exists: self.made.iter().any(|(_, date)| Some(*date) == row.next_dagrun),
            timetable_partitioned: false,
            allowed_run_types: None,
            assets_triggered_at: None,
            got_partition_run: false,
            last_scheduled_at: None,
            last_asset_triggered_at: None,
        };
        match decide(&[facts], now, 10).remove(0).verdict {
            Verdict::Create(run) => self.make(&run, now).await,
            Verdict::AdvanceOnly => {}
            Verdict::Refused(_) | Verdict::Postponed => return false,
        }
        self.advance(&row, now).await;
        true
    }

    async fn make(&mut self, run: &NewRun<'_>, now: Timestamp) {
        let date = run.logical_date.unwrap();
        let new = &NewDagRun {
            dag_id: "example_daily".to_owned(),
            run_id: run.run_id(&self.dag().timetable, [0; 8]).unwrap(),
            state: RunState::Queued,
            start_date: None,
            run_type: RunType::Scheduled,
            triggered_by: Some(TriggeredBy::Timetable),
            triggering_user_name: None,
            creating_job_id: None,
            backfill_id: None,
            logical_date: run.logical_date,
            data_interval_start: run.data_interval.map(|interval| interval.start),
            data_interval_end: run.data_interval.map(|interval| interval.end),
            run_after: run.run_after,
            partition_key: None,
            partition_date: None,
            conf: Json::from(json!({})),
            bundle_version: None,
            created_dag_version_id: None,
            context_carrier: json!({}),
        };
        let finishes = self.finishes_runs;
        let inserted = self.place.db.transact(|tx| {
            async move {
                let id = dag_run::insert(tx, new, now).await?;
                if finishes {
                    dag_run::set_state(tx, id, RunState::Queued, RunState::Success, now).await?;
                }
                Ok(id)
            }
            .scope_boxed()
        });
        let id = inserted.await.unwrap();
        self.made.push((id, date));
        self.intervals.insert(id, run.data_interval.unwrap());
    }

    /// Writes what follows the run that the row named.
    async fn advance(&self, row: &dag::Dag, now: Timestamp) {
        let interval = DataInterval {
            start: row.next_dagrun_data_interval_start.unwrap(),
            end: row.next_dagrun_data_interval_end.unwrap(),
        };
        let last = RunInfo {
            run_after: row.next_dagrun_create_after.unwrap(),
            data_interval: Some(interval),
            partition_date: None,
            partition_key: None,
        };
        let next = next_run_after(&self.dag(), Some(&last), now).ok();
        let sql = |time: Option<Timestamp>| {
            let text = time.map(|time| time.strftime("'%Y-%m-%d %H:%M:%S.%6f'").to_string());
            text.unwrap_or_else(|| "NULL".to_owned())
        };
        let interval = next.as_ref().and_then(|next| next.data_interval);
        let update = format!(
            "UPDATE dag SET next_dagrun = {start}, next_dagrun_data_interval_start = {start}, \
             next_dagrun_data_interval_end = {}, next_dagrun_create_after = {}",
            sql(interval.map(|interval| interval.end)),
            sql(next.map(|next| next.run_after)),
            start = sql(interval.map(|interval| interval.start)),
        );
        self.place.database.execute(update).await;
    }
}

async fn example_daily_gets_its_runs_at_midnight(server: Server) {
    let mut site = Site::new(server).await;
    let daily = cron("0 0 * * *");
    let no_catchup = r#""catchup": false,"#;
    site.parse(&daily, no_catchup, at("2024-01-01T12:00:00")).await;
    let first = (Some(at("2024-01-01T00:00:00")), Some(at("2024-01-02T00:00:00")));
    assert_eq!(site.next().await, first);
    assert!(site.schedule(at("2024-01-01T23:59:59")).await.is_empty());
    // A parse between does not move it.
    site.parse(&daily, no_catchup, at("2024-01-01T18:00:00")).await;
    assert_eq!(site.next().await, first);

    assert_eq!(site.schedule(at("2024-01-02T00:00:05")).await, [at("2024-01-01T00:00:00")]);
    let run = site.place.db.read(|tx| {
        async move { dag_run::find(tx, "example_daily", "scheduled__2024-01-02T00:00:00+00:00").await }
            .scope_boxed()
    });
    let run = run.await.unwrap().unwrap();
    assert_eq!(run.logical_date, Some(at("2024-01-01T00:00:00")));
    assert_eq!(run.data_interval_start, Some(at("2024-01-01T00:00:00")));
    assert_eq!(run.data_interval_end, Some(at("2024-01-02T00:00:00")));
    let second = (Some(at("2024-01-02T00:00:00")), Some(at("2024-01-03T00:00:00")));
    assert_eq!(site.next().await, second);
    site.parse(&daily, no_catchup, at("2024-01-02T00:01:00")).await;
    assert_eq!(site.next().await, second);

    assert_eq!(site.schedule(at("2024-01-03T00:00:05")).await, [at("2024-01-02T00:00:00")]);
    site.parse(&daily, no_catchup, at("2024-01-03T00:01:00")).await;
    assert_eq!(site.next().await, (Some(at("2024-01-03T00:00:00")), Some(at("2024-01-04T00:00:00"))));
}

async fn a_dag_that_was_paused_goes_on_as_catchup_says(server: Server) {
    let days =
        |days: &[&str]| days.iter().map(|day| at(&format!("2024-01-0{day}T00:00:00"))).collect::<Vec<_>>();
    for (catchup, expected) in [(true, days(&["2", "3", "4"])), (false, days(&["4"]))] {
        let mut site = Site::new(server).await;
        let daily = cron("0 0 * * *");
        let fields = format!(r#""catchup": {catchup},"#);
        site.parse(&daily, &fields, at("2024-01-01T12:00:00")).await;
        assert_eq!(site.schedule(at("2024-01-02T00:00:05")).await, days(&["1"]));
        let paused = |paused: bool| {
            let value =
                if server == Server::Postgres { paused.to_string() } else { u8::from(paused).to_string() };
            format!("UPDATE dag SET is_paused = {value}")
        };
        site.place.database.execute(paused(true)).await;
        for day in 2..5 {
            let now = at(&format!("2024-01-0{day}T12:00:00"));
            site.parse(&daily, &fields, now).await;
            assert!(site.place.row("example_daily").await.is_paused, "a parse does not unpause");
            assert!(site.schedule(now).await.is_empty());
        }
        site.place.database.execute(paused(false)).await;
        site.parse(&daily, &fields, at("2024-01-05T12:00:00")).await;
        assert_eq!(site.schedule(at("2024-01-05T12:00:01")).await, expected, "catchup is {catchup}");
    }
}

async fn a_dag_with_all_the_runs_that_it_may_have_gets_none(server: Server) {
    let mut site = Site::new(server).await;
    site.finishes_runs = false;
    let (daily, fields) = (cron("0 0 * * *"), r#""catchup": true, "max_active_runs": 2,"#);
    let now = at("2024-01-10T12:00:00");
    site.parse(&daily, fields, now).await;
    assert!(!site.place.row("example_daily").await.exceeds_max_non_backfill);
    assert_eq!(site.schedule(now).await.len(), 2);
    site.parse(&daily, fields, now).await;
    let row = site.place.row("example_daily").await;
    assert!(row.exceeds_max_non_backfill);
    assert_eq!(row.next_dagrun, Some(at("2024-01-03T00:00:00")), "what is next is known all the same");
    assert!(site.schedule(now).await.is_empty());
    let (id, _) = site.made.remove(0);
    let finished = site.place.db.transact(|tx| {
        async move { dag_run::set_state(tx, id, RunState::Queued, RunState::Success, now).await }
            .scope_boxed()
    });
    assert!(finished.await.unwrap());
    site.parse(&daily, fields, now).await;
    assert!(!site.place.row("example_daily").await.exceeds_max_non_backfill);
    assert_eq!(site.schedule(now).await, [at("2024-01-03T00:00:00")]);
}

/// The same numbers each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Whatever the schedule was before: from its last change on, each date that the new schedule asks for has one run.
#[tokio::test]
async fn a_changed_schedule_neither_loses_nor_doubles_a_run() {
    let schedules = [
        cron("0 0 * * *"),
        cron("0 * * * *"),
        cron("*/20 * * * *"),
        cron("30 6 * * 1"),
        r#"{"__type": "airflow.timetables.interval.DeltaDataIntervalTimetable", "__var": {"delta": 2700.0}}"#
            .to_owned(),
        r#"{"__type": "airflow.timetables.trigger.CronTriggerTimetable", "__var": {"expression": "*/30 * * * *",
            "timezone": "UTC", "interval": 0.0, "run_immediately": false}}"#
            .to_owned(),
        r#"{"__type": "airflow.timetables.trigger.DeltaTriggerTimetable", "__var": {"delta": 5400.0,
            "interval": 0.0}}"#
            .to_owned(),
    ];
    for seed in 0..12 {
        let mut chance = Chance(seed);
        let mut site = Site::new(Server::Sqlite).await;
        let mut now = at("2024-01-01T00:00:00");
        let mut asked = 0;
        for step in 0..8 {
            let schedule = &schedules[usize::try_from(chance.below(7)).unwrap()];
            now += SignedDuration::from_mins(i64::try_from(chance.below(300)).unwrap());
            site.parse(schedule, r#""catchup": true,"#, now).await;
            let wanted = site.wanted(now + 12.hours());
            for _ in 0..3 {
                now += 4.hours();
                site.schedule(now).await;
                if chance.below(2) == 0 {
                    site.parse(schedule, r#""catchup": true,"#, now).await;
                }
            }
            let dates: BTreeSet<Timestamp> = site.made.iter().map(|(_, date)| *date).collect();
            assert_eq!(dates.len(), site.made.len(), "seed {seed}, step {step}: a date has two runs");
            let lost: Vec<_> = wanted.iter().filter(|date| !dates.contains(date)).collect();
            assert!(lost.is_empty(), "seed {seed}, step {step}, {schedule}: {lost:?} are lost");
            asked += wanted.len();
        }
        assert!(asked > 20, "seed {seed}: only {asked} runs were asked for");
    }
}

impl Site {
    /// The dates that the schedule asks for after the runs that there are, until then.
    fn wanted(&self, until: Timestamp) -> Vec<Timestamp> {
        let dag = self.dag();
        let latest = self.made.iter().max_by_key(|(_, date)| *date);
        let mut last = latest.map(|(id, _)| self.intervals[id]).map(|interval| RunInfo {
            run_after: interval.end,
            data_interval: Some(interval),
            partition_date: None,
            partition_key: None,
        });
        let mut dates = Vec::new();
        while let Ok(next) = next_run_after(&dag, last.as_ref(), until) {
            if next.run_after > until {
                break;
            }
            dates.extend(next.logical_date());
            last = Some(next);
        }
        dates
    }
}
