//! What tasks print and log: all of it, in Airflow's form and place, while they run, without secrets.

use std::fs;

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::wait_until;
use serde_json::Value;

use crate::faults::stage::Stage;

const MEGABYTE: usize = 1 << 20;

const TALKING: &str = r#"
@task
def much():
    block = b"".join(b"%07d " % number + b"y" * 1015 + b"\n" for number in range(1024))
    for _ in range(50):
        sys.stdout.buffer.write(block)
    sys.stdout.flush()

@task
def one_long_line():
    os.write(2, b"short\n")
    sys.stdout.write("x" * (10 << 20))
    sys.stdout.flush()

@task
def large_records():
    import structlog
    structlog.get_logger("mine").info("large", payload="z" * (3 << 20))
    structlog.get_logger("mine").info("huge", payload="z" * (5 << 20))
    structlog.get_logger("mine").info("afterwards")

@task
def odd_bytes():
    import logging
    logging.getLogger("plain").warning("of %s", "logging")
    os.write(1, b"bad \xff\xfe bytes\r\n\x00\x1b[31mred\n")
    os.write(1, b"no newline")

@task
def live():
    print("here I am")
    wait_for("seen")

[much(), one_long_line(), large_records(), odd_bytes(), live()]
"#;

#[tokio::test]
async fn everything_that_a_task_says_is_in_its_log() {
    let stage = Stage::on(Server::Sqlite).await;
    stage.write("", TALKING);
    let mut running = stage.start();
    let logs = stage.place.root().join("home/logs/dag_id=faults");
    let is_seen = wait_until(90, || {
        logs.exists()
            && fs::read_to_string(stage.log_file("live", 1)).is_ok_and(|text| text.contains("here I am"))
    });
    assert!(is_seen && !running.has_ended(), "{}", last(&running.log()));
    stage.let_go("seen");
    let code = running.wait_for_end(150);
    assert_eq!(code, Some(0), "{}", last(&running.log()));
    stage.assert_nobody_left();
    assert!(stage.states().await.values().all(|state| state == "success 1"));

    all_lines_are_there(&stage);
    long_lines_and_records_are_there(&stage);
    odd_bytes_are_replaced(&stage);
    for task in ["one_long_line", "large_records", "odd_bytes", "live"] {
        in_airflows_form(&stage.log(task, 1));
    }
}

fn all_lines_are_there(stage: &Stage) {
    // Not taken apart: it is large.
    let text = fs::read_to_string(stage.log_file("much", 1)).unwrap();
    let much: Vec<&str> = text.lines().filter(|line| line.contains(r#""logger":"task.stdout""#)).collect();
    assert_eq!(much.len(), 50 * 1024);
    let event = |number: usize| format!(r#""event":"{:07} yyyy"#, number % 1024);
    let is_complete = |(number, line): (usize, &&str)| line.contains(&event(number)) && line.len() > 1023;
    assert!(much.iter().enumerate().all(is_complete));
}

fn long_lines_and_records_are_there(stage: &Stage) {
    let long = events(stage, "one_long_line", "task.stdout");
    assert!(long.iter().all(|line| line.bytes().all(|byte| byte == b'x')));
    assert_eq!(long.iter().map(String::len).sum::<usize>(), 10 * MEGABYTE);
    assert_eq!(events(stage, "one_long_line", "task.stderr"), ["short"]);

    let records = stage.log("large_records", 1);
    let find = |event: &str| records.iter().position(|record| record["event"] == event);
    assert_eq!(records[find("large").unwrap()]["payload"].as_str().unwrap().len(), 3 * MEGABYTE);
    assert!(find("afterwards").is_some());
    let letters = |record: &Value| record.to_string().bytes().filter(|byte| *byte == b'z').count();
    assert!(records.iter().map(letters).sum::<usize>() >= 8 * MEGABYTE);
}

fn odd_bytes_are_replaced(stage: &Stage) {
    assert_eq!(
        events(stage, "odd_bytes", "task.stdout"),
        ["bad \u{fffd}\u{fffd} bytes", "\0\u{1b}[31mred", "no newline"]
    );
    let odd = stage.log("odd_bytes", 1);
    let plain = odd.iter().find(|record| record["event"] == "of logging").unwrap();
    assert_eq!((&plain["level"], &plain["logger"]), (&"warning".into(), &"plain".into()));
}

fn in_airflows_form(log: &[Value]) {
    for record in log {
        let keys: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys[..3], ["timestamp", "level", "event"], "{}", last(&record.to_string()));
        if record["logger"] == "task.stdout" || record["logger"] == "task.stderr" {
            assert_eq!(keys[3..], ["logger"]);
        }
        let time: jiff::Timestamp = record["timestamp"].as_str().unwrap().parse().unwrap();
        assert!(time.as_second() > 0);
    }
}

/// What is looked for is looked for by the task itself, when it has told its state and was answered.
const LAST_WORDS: &str = r#"
def say():
    import structlog
    log = structlog.get_logger("mine")
    for number in range(200):
        print("printed", number)
        print("an error", number, file=sys.stderr)
        log.info(f"logged {number}")
    sys.stdout.buffer.write(b"the last line, without an end")
    sys.stdout.buffer.flush()

def look(context):
    ti = context["ti"]
    [file] = (ROOT / "home/logs/dag_id=faults").glob(f"run_id=*/task_id={ti.task_id}/attempt={ti.try_number}.log")
    text = file.read_text()
    last = ("printed 199", "an error 199", "logged 199", "the last line, without an end")
    trace("looked", *[word for word in last if word not in text])
"#;

#[tokio::test]
async fn what_was_said_before_the_end_is_in_the_log_before_the_row_tells_it() {
    let stage = Stage::on(Server::Sqlite).await;
    stage.write(
        LAST_WORDS,
        r#"
@task(on_failure_callback=look)
def fails():
    say()
    raise ValueError("no good")

@task(retries=1, retry_delay=timedelta(0), on_retry_callback=look, on_success_callback=look)
def succeeds_at_last():
    say()
    if get_current_context()["ti"].try_number == 1:
        raise ValueError("not yet")

fails()
succeeds_at_last()
for number in range(6):
    task(task_id=f"succeeds_{number}", on_success_callback=look)(say)()
"#,
    );
    let (_, output) = stage.run(120);
    let looked = stage.trace();
    assert_eq!(looked, ["looked"; 9], "{}", last(&output));
    for task in ["fails", "succeeds_0"] {
        in_the_order_of_its_times(&stage.log(task, 1));
    }
}

/// What was logged before something was printed comes before it; the other way round, it cannot be known.
fn in_the_order_of_its_times(log: &[Value]) {
    let place = |words: String| log.iter().position(|record| record["event"] == words).unwrap();
    for number in 1..200 {
        let (logged, printed) = (place(format!("logged {}", number - 1)), place(format!("printed {number}")));
        assert!(logged < printed, "{number}: {logged} and {printed}");
    }
}

fn events(stage: &Stage, task: &str, logger: &str) -> Vec<String> {
    let log = stage.log(task, 1);
    let of_logger = log.into_iter().filter(|record| record["logger"] == logger);
    of_logger.map(|record| record["event"].as_str().unwrap().to_owned()).collect()
}

fn last(text: &str) -> &str {
    &text[text.floor_char_boundary(text.len().saturating_sub(4000))..]
}

#[tokio::test]
async fn secrets_are_in_no_log() {
    let stage = Stage::on(Server::Sqlite).await;
    for statement in [
        "INSERT INTO variable (key, val, is_encrypted) VALUES ('my_secret', 'hush-hush-1', false)",
        "INSERT INTO variable (key, val, is_encrypted) VALUES ('harmless', 'open-2', false)",
        "INSERT INTO connection (conn_id, conn_type, host, login, password, is_encrypted, is_extra_encrypted) \
         VALUES ('db', 'postgres', 'host-3', 'me', 'pa55word-4', false, false)",
    ] {
        stage.place.db().execute(statement).await;
    }
    stage.write(
        "from airflow.sdk import Connection\nfrom airflow.sdk.log import mask_secret\n",
        r#"
@task
def tells():
    import structlog
    mask_secret("token-5")
    said = [Variable.get("my_secret"), Variable.get("harmless"), Connection.get("db").password, "token-5"]
    print("printed", *said)
    print("on stderr", *said, file=sys.stderr)
    structlog.get_logger("mine").info("logged", said=said, password="by-name-6")
    subprocess.run(["echo", "by another process", *said])
    raise ValueError(" ".join(said))
tells()
"#,
    );
    let (is_good, output) = stage.run(90);
    assert!(!is_good, "{output}");
    let log = fs::read_to_string(stage.log_file("tells", 1)).unwrap();
    for secret in ["hush-hush-1", "pa55word-4", "token-5", "by-name-6"] {
        assert!(!log.contains(secret), "{secret}\n{log}");
        assert!(!output.contains(secret), "{secret}\n{output}");
    }
    for words in
        ["printed *** open-2 *** ***", "on stderr *** open-2", "by another process *** open-2", "ValueError"]
    {
        assert!(log.contains(words), "{words}\n{log}");
    }
}
