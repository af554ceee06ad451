//! No DAG file stops another: whatever a file does while it is imported, the others are stored, an import error
//! tells what happened, and no process is left.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread::sleep;
use std::time::Duration;

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, simple_dag, wait_until};

use crate::dag_processing::FERROFLOW;

/// Every file speaks of what the processor looks for.
const HEAD: &str = "# airflow DAG\nimport os, sys, time\n";

/// Files that end badly: their name, what they do, and words of the import error.
const ENDING_BADLY: [(&str, &str, &[&str]); 8] = [
    ("endless_loop", "while True:\n    pass\n", &["timed out", "timeout", "Timeout"]),
    (
        "sleeps",
        "try:\n    time.sleep(3600)\nexcept BaseException:\n    time.sleep(3600)\n",
        &["killed", "timeout"],
    ),
    ("exits", "sys.exit(3)\n", &["SystemExit", "exit"]),
    ("exits_hard", "os._exit(7)\n", &["7"]),
    ("segfaults", "import ctypes\nctypes.string_at(0)\n", &["SIGSEGV", "signal 11", "segmentation"]),
    ("raises_no_exception", "raise KeyboardInterrupt\n", &["KeyboardInterrupt"]),
    ("allocates_two_gigabytes", "block = bytearray(2 * 1024 ** 3)\n", &["2048 MiB"]),
    ("recurses", "def f(): f()\nf()\n", &["RecursionError"]),
];

/// Files that do much and end well, each with its DAG.
const DOING_MUCH: [(&str, &str); 3] = [
    (
        "forks_fifty",
        "for _ in range(50):\n    if os.fork() == 0:\n        time.sleep(3600)\n        os._exit(0)\n",
    ),
    (
        "prints_ten_megabytes",
        "for _ in range(10_000):\n    print('x' * 1023)\n    sys.stderr.write('y' * 10 + '\\n')\n",
    ),
    ("leaves_a_thread", "import threading\nthreading.Thread(target=time.sleep, args=(3600,)).start()\n"),
];

fn write_hostile_files(place: &Place) {
    for (name, text, _) in ENDING_BADLY {
        place.write(&format!("{name}.py"), format!("{HEAD}{text}"));
    }
    for (name, text) in DOING_MUCH {
        place.write(&format!("{name}.py"), format!("{HEAD}{text}{}", simple_dag(name)));
    }
    place.write("not_utf8.py", b"# airflow DAG\nname = '\xff\xfe'\n");
    place.write("half_written.py", "# airflow DAG\nfrom airflow.sdk import DAG\nwith DAG('half',");
    // Root may read anything: a link to nowhere and one to itself cannot be read by anybody.
    std::os::unix::fs::symlink("/nowhere/at/all.py", place.file("link_to_nowhere.py"))
        .expect("a link is made");
    std::os::unix::fs::symlink(place.file("link_to_itself.py"), place.file("link_to_itself.py"))
        .expect("a link is made");
    place.write("no_entry/inside.py", simple_dag("behind_a_closed_door"));
    fs::set_permissions(place.file("no_entry"), fs::Permissions::from_mode(0o000))
        .expect("the door is closed");
    for number in 0..10 {
        place.write_dag(&format!("good_{number}"));
    }
}

async fn hostile_place() -> Place {
    Place::on(Server::Sqlite)
        .await
        .with("AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT", "8")
        .with("AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT", "12")
        .with("AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL", "1")
        .with("AIRFLOW__DAG_PROCESSOR__FILE_PARSING_SORT_MODE", "alphabetical")
}

#[tokio::test]
async fn hostile_files_stop_no_other() {
    let place = hostile_place().await;
    write_hostile_files(&place);
    let mut running = place.start(FERROFLOW, &["dag-processor"]);
    let mut observer = place.observe();
    let good: Vec<String> = (0..10).map(|number| format!("good_{number}")).collect();
    let much = DOING_MUCH.map(|(name, _)| name.to_owned());

    let mut stored = Vec::new();
    let all_stored = wait_until(120, || {
        stored = observer.serialized();
        good.iter().chain(&much).all(|dag| stored.contains(dag))
    });
    assert!(all_stored, "stored are only {stored:?}\n{}", running.log());

    let mut missing = Vec::new();
    let told = wait_until(120, || {
        let errors = observer.import_errors();
        missing = ENDING_BADLY
            .iter()
            .filter(|(name, _, words)| {
                let text =
                    errors.get(&format!("{name}.py")).and_then(|text| text.as_str()).unwrap_or_default();
                !words.iter().any(|word| text.contains(word))
            })
            .map(|(name, ..)| format!("{name}: {:?}", errors.get(&format!("{name}.py"))))
            .collect();
        for file in ["not_utf8.py", "half_written.py"] {
            if !errors.contains_key(file) {
                missing.push(file.to_owned());
            }
        }
        missing.is_empty()
    });
    assert!(told, "no import error, or one that does not tell: {missing:#?}\n{}", running.log());
    assert!(!running.has_ended(), "{}", running.log());

    good_files_are_parsed_again(&mut observer);
    ends_and_leaves_nobody(&place, running);
    fs::set_permissions(place.file("no_entry"), fs::Permissions::from_mode(0o700)).unwrap();
}

/// Those that hang take a slot for a while, and the others go on.
fn good_files_are_parsed_again(observer: &mut ferroflow_testkit::dag_processing::Observer) {
    let question = serde_json::json!(["parsed", "good_0"]);
    let first = observer.ask(&question);
    assert!(wait_until(90, || observer.ask(&question) != first), "good_0 was not parsed again since {first}");
}

fn ends_and_leaves_nobody(place: &Place, mut running: ferroflow_testkit::dag_processing::Running) {
    running.terminate();
    assert_eq!(running.wait_for_end(30), Some(0), "{}", running.log());
    let nobody_left = wait_until(60, || place.processes().is_empty());
    let left = place.processes().into_iter().map(|process| {
        let words = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        format!("{process} {}", words.replace('\0', " "))
    });
    assert!(nobody_left, "left: {:#?}", left.collect::<Vec<_>>());
}

/// A file may be written, cut short, replaced or deleted while it is looked at.
#[tokio::test]
async fn files_change_and_go_while_they_are_parsed() {
    let place = hostile_place()
        .await
        .with("AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL", "1")
        .with("AIRFLOW__DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL", "1");
    place.write_dag("steady");
    let mut running = place.start(FERROFLOW, &["dag-processor"]);
    let mut observer = place.observe();
    assert!(wait_until(60, || observer.serialized() == ["steady"]), "{}", running.log());
    for round in 0..20 {
        for number in 0..5 {
            let name = format!("comes_and_goes_{number}");
            let file = place.file(&format!("{name}.py"));
            match (round + number) % 4 {
                0 => place.write_dag(&name),
                1 => place.write(&format!("{name}.py"), &simple_dag(&name)[..97]),
                2 => place.write(&format!("{name}.py"), format!("{HEAD}time.sleep(2)\n")),
                _ => drop(fs::remove_file(file)),
            }
        }
        sleep(Duration::from_millis(300));
        assert!(!running.has_ended(), "{}", running.log());
    }
    for number in 0..5 {
        place.write_dag(&format!("comes_and_goes_{number}"));
    }
    let mut stored = Vec::new();
    let all_there = wait_until(60, || {
        stored = observer.serialized();
        stored.len() == 6 && observer.import_errors().is_empty()
    });
    assert!(all_there, "{stored:?} {:?}\n{}", observer.import_errors(), running.log());
    ends_and_leaves_nobody(&place, running);
}
