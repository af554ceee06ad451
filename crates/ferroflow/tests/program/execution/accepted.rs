//! Where the rows differ from official Airflow's on purpose, each with its reason; `docs/differences.md` tells more.

use crate::execution::differences::Difference;

/// How runs were played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Play {
    /// Made and driven by us, on SQLite.
    OnSqlite,
    /// The same on PostgreSQL.
    OnPostgres,
    /// By the scheduler on PostgreSQL, beside official components: what is asked for is made by them.
    ByScheduler,
}

/// Differences of one reason.
#[derive(Debug)]
pub(crate) struct Accepted {
    set: &'static str,
    plays: &'static [Play],
    /// Where, and what is there with us. Steps may be `*`, which stands for any.
    pub(crate) places: &'static [(&'static str, &'static str)],
    /// Why we do otherwise.
    #[expect(dead_code, reason = "it is read by people, here and where it is printed")]
    reason: &'static str,
}

impl Accepted {
    /// Which of the places a difference is at, if it is such a one.
    pub(crate) fn is_about(&self, play: Play, set: &str, difference: &Difference) -> Option<&'static str> {
        let is_it = |place: &str, ours: &str| ours == difference.ours && matches(place, &difference.place);
        self.expected(play, set).find(|(place, ours)| is_it(place, ours)).map(|(place, _)| place)
    }

    /// Where there has to be such a difference, and what is there with us.
    pub(crate) fn expected(
        &self,
        play: Play,
        set: &str,
    ) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let is_here = self.set == set && self.plays.contains(&play);
        let places = if is_here { self.places } else { &[] };
        places.iter().copied()
    }
}

fn matches(pattern: &str, place: &str) -> bool {
    let (mut patterns, mut steps) = (pattern.split(" / "), place.split(" / "));
    loop {
        match (patterns.next(), steps.next()) {
            (None, None) => return true,
            (Some(pattern), Some(step)) if pattern == "*" || pattern == step => {}
            _ => return false,
        }
    }
}

const KILLED: &str = "on_failure runs for every task that has failed; Airflow forgets it where the process of the last \
                      try is killed or leaves with a code of its own, and says in the audit log that the task told so";
const CRASHED: &str = "a task that gets SIGSEGV ends with it; with Airflow a handler returns, so that one that sends it to \
                       itself goes on, and native code that crashes does so without end";
const KEYS: &str = "a key of an XCom is what it is; Airflow makes a part of a URL of it, which ends at ? and #, and \
                    cannot be empty";

const WHOLE: &str = "SQLite makes a whole number of a fraction that is one, also with Airflow; the recording is of \
                     PostgreSQL";
const NAMES: &str =
    "all copies of a mapped task have its display name; with Airflow only the first one has it";

const ALWAYS: &[Play] = &[Play::OnSqlite, Play::OnPostgres, Play::ByScheduler];

/// What is left of a try that ended without a word.
const ENDED: &str = r#"[{"exception":null,"reason":null,"what":"on_execute"},{"what":"body"},{"exception":null,"reason":null,"what":"on_failure"}]"#;
const NOTHING: &str = "(nothing)";
/// What the audit log says of it: here, that nobody told the end.
const NOTED: &str =
    r#"["1 failed airflow logical_date","1 running airflow logical_date extra","1 state mismatch - extra"]"#;
const NOTED_TWICE: &str = r#"["1 failed airflow logical_date","1 running airflow logical_date extra","1 state mismatch - extra","2 failed airflow logical_date","2 running airflow logical_date extra","2 state mismatch - extra"]"#;
/// Whose callbacks are written. With Airflow, those of the last try are written of `real_exit_0` alone.
const CALLED: &str = r#"["TaskCallbackRequest real_exit_0 try 1","TaskCallbackRequest real_exit_7 try 1","TaskCallbackRequest sigabrt try 1","TaskCallbackRequest sigint try 1","TaskCallbackRequest sigkill try 1","TaskCallbackRequest sigsegv try 1","TaskCallbackRequest sigsegv_by_default try 1","TaskCallbackRequest wrong_text try 1"]"#;
const CALLED_AGAIN: &str = r#"["TaskCallbackRequest real_exit_0 try 2","TaskCallbackRequest real_exit_7 try 2","TaskCallbackRequest sigabrt try 2","TaskCallbackRequest sigint try 2","TaskCallbackRequest sigkill try 2","TaskCallbackRequest sigsegv try 2","TaskCallbackRequest sigsegv_by_default try 2","TaskCallbackRequest wrong_text try 2"]"#;

pub(crate) const ACCEPTED: &[Accepted] = &[
    Accepted {
        set: "own",
        plays: ALWAYS,
        places: &[
            ("dags / fail_at_once / trace / * / real_exit_7 try 1", ENDED),
            ("dags / fail_at_once / trace / * / sigabrt try 1", ENDED),
            ("dags / fail_at_once / trace / * / sigint try 1", ENDED),
            ("dags / fail_at_once / trace / * / sigkill try 1", ENDED),
            ("dags / fail_at_once / trace / * / sigsegv_by_default try 1", ENDED),
            ("dags / fail_at_once / trace / * / wrong_text try 1", ENDED),
            ("dags / fail_with_retries / trace / * / real_exit_7 try 2", ENDED),
            ("dags / fail_with_retries / trace / * / sigabrt try 2", ENDED),
            ("dags / fail_with_retries / trace / * / sigint try 2", ENDED),
            ("dags / fail_with_retries / trace / * / sigkill try 2", ENDED),
            ("dags / fail_with_retries / trace / * / sigsegv_by_default try 2", ENDED),
            ("dags / fail_with_retries / trace / * / wrong_text try 2", ENDED),
            ("dags / fail_at_once / callbacks / * / 0 / about", CALLED),
            ("dags / fail_with_retries / callbacks / * / 0 / about", CALLED),
            ("dags / fail_with_retries / callbacks / * / 1 / about", CALLED_AGAIN),
            ("dags / fail_at_once / runs / * / audit_log / real_exit_7", NOTED),
            ("dags / fail_at_once / runs / * / audit_log / sigabrt", NOTED),
            ("dags / fail_at_once / runs / * / audit_log / sigint", NOTED),
            ("dags / fail_at_once / runs / * / audit_log / sigkill", NOTED),
            ("dags / fail_at_once / runs / * / audit_log / sigsegv_by_default", NOTED),
            ("dags / fail_at_once / runs / * / audit_log / wrong_text", NOTED),
            ("dags / fail_with_retries / runs / * / audit_log / real_exit_7", NOTED_TWICE),
            ("dags / fail_with_retries / runs / * / audit_log / sigabrt", NOTED_TWICE),
            ("dags / fail_with_retries / runs / * / audit_log / sigint", NOTED_TWICE),
            ("dags / fail_with_retries / runs / * / audit_log / sigkill", NOTED_TWICE),
            ("dags / fail_with_retries / runs / * / audit_log / sigsegv_by_default", NOTED_TWICE),
            ("dags / fail_with_retries / runs / * / audit_log / wrong_text", NOTED_TWICE),
        ],
        reason: KILLED,
    },
    Accepted {
        set: "own",
        plays: ALWAYS,
        places: &[
            ("dags / fail_at_once / runs / * / tasks / sigsegv / state", "\"failed\""),
            ("dags / fail_at_once / runs / * / xcoms / sigsegv / return_value", NOTHING),
            ("dags / fail_at_once / trace / * / sigsegv try 1 / 2 / what", "\"on_failure\""),
            ("dags / fail_with_retries / runs / * / tasks / sigsegv / state", "\"failed\""),
            ("dags / fail_with_retries / runs / * / tasks / sigsegv / try_number", "2"),
            (
                "dags / fail_with_retries / runs / * / tasks / sigsegv / earlier_tries",
                r#"[{"max_tries":1,"state":"failed","try_number":1}]"#,
            ),
            ("dags / fail_with_retries / runs / * / xcoms / sigsegv / return_value", NOTHING),
            ("dags / fail_with_retries / trace / * / sigsegv try 1 / 2 / what", "\"on_retry\""),
            ("dags / fail_with_retries / trace / * / sigsegv try 2", ENDED),
            ("dags / fail_at_once / runs / * / audit_log / sigsegv", NOTED),
            ("dags / fail_with_retries / runs / * / audit_log / sigsegv", NOTED_TWICE),
        ],
        reason: CRASHED,
    },
    Accepted {
        set: "own",
        plays: ALWAYS,
        places: &[
            ("dags / xcom_types / runs / * / tasks / push_key_empty / state", "\"success\""),
            ("dags / xcom_types / runs / * / xcoms / push_key_empty", "{\"\":1}"),
            ("dags / xcom_types / runs / * / tasks / push_key_of_urls / state", "\"success\""),
            ("dags / xcom_types / runs / * / xcoms / push_key_of_urls / cut", NOTHING),
            ("dags / xcom_types / runs / * / xcoms / push_key_of_urls / cut?here", "1"),
            ("dags / xcom_types / runs / * / xcoms / push_key_of_urls / cut#here", "2"),
            ("dags / xcom_types / runs / * / xcoms / push_key_of_urls / return_value", "[1,2]"),
            (
                "dags / xcom_types / runs / * / audit_log / push_key_empty / 0",
                "\"1 running airflow logical_date extra\"",
            ),
            (
                "dags / xcom_types / runs / * / audit_log / push_key_empty / 1",
                "\"1 success airflow logical_date extra\"",
            ),
            (
                "dags / xcom_types / runs / * / audit_log / push_key_of_urls / 0",
                "\"1 running airflow logical_date extra\"",
            ),
            (
                "dags / xcom_types / runs / * / audit_log / push_key_of_urls / 1",
                "\"1 success airflow logical_date extra\"",
            ),
        ],
        reason: KEYS,
    },
    Accepted {
        set: "own",
        plays: &[Play::OnSqlite],
        places: &[
            ("dags / tf_basic / runs / * / rendered / renamed / op_args / 1", "3"),
            ("dags / tf_basic / runs / * / xcoms / renamed / return_value / 1", "3"),
            ("dags / tf_basic / runs / * / xcoms / several / half", "3"),
        ],
        reason: WHOLE,
    },
    Accepted {
        set: "examples",
        plays: ALWAYS,
        places: &[
            (ENGLISH_1, "\"Generate English greeting\""),
            (ENGLISH_2, "\"Generate English greeting\""),
            (FRENCH_1, "\"Produire un message d'accueil en français\""),
            (FRENCH_2, "\"Produire un message d'accueil en français\""),
            (GERMAN_1, "\"Erzeuge Deutsche Begrüßung\""),
            (GERMAN_2, "\"Erzeuge Deutsche Begrüßung\""),
        ],
        reason: NAMES,
    },
];

const ENGLISH_1: &str =
    "dags / example_params_trigger_ui / runs / * / tasks / generate_english_greeting[1] / task_display_name";
const ENGLISH_2: &str =
    "dags / example_params_trigger_ui / runs / * / tasks / generate_english_greeting[2] / task_display_name";
const FRENCH_1: &str =
    "dags / example_params_trigger_ui / runs / * / tasks / generate_french_greeting[1] / task_display_name";
const FRENCH_2: &str =
    "dags / example_params_trigger_ui / runs / * / tasks / generate_french_greeting[2] / task_display_name";
const GERMAN_1: &str =
    "dags / example_params_trigger_ui / runs / * / tasks / generate_german_greeting[1] / task_display_name";
const GERMAN_2: &str =
    "dags / example_params_trigger_ui / runs / * / tasks / generate_german_greeting[2] / task_display_name";

#[test]
fn places_match_step_by_step() {
    assert!(matches("a / * / c", "a / b / c"));
    assert!(!matches("a / *", "a / b / c"));
    assert!(!matches("a / b / c", "a / b"));
    assert!(!matches("a / b", "a / c"));
}
