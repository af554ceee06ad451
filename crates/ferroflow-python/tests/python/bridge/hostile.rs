//! Files that do harm: each ends in words about what happened, and nothing is left of it.

use std::time::Duration;

use ferroflow_python::{Cause, ParseOutcome, ParsedFile, Stream};

use crate::bridge::support::{Bridge, eventually};

const DAG: &str = "\nfrom airflow.sdk import DAG\ndag = DAG('survivor', schedule=None)\n";

#[tokio::test]
async fn an_endless_loop_is_killed_when_its_time_is_up() {
    let mut bridge = Bridge::shared().await;
    bridge.limits.timeout = Duration::from_secs(3);
    bridge.limits.grace = Duration::from_millis(200);
    let text = "# airflow dag
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('before', file=sys.stderr)
while True: pass
";
    let failure = bridge.failure(text).await;
    assert_eq!(failure.cause, Cause::TimedOut(Duration::from_secs(3)));
    assert!(failure.to_string().contains("within 3 s") && failure.tail.contains("before"), "{failure}");
}

#[tokio::test]
async fn a_process_that_ends_itself_is_told_with_its_code_or_signal() {
    let bridge = Bridge::shared().await;
    let failure = bridge.failure("# airflow dag\nimport os\nos._exit(7)\n").await;
    assert!(failure.to_string().contains("exit code 7"), "{failure}");
    let failure = bridge.failure("# airflow dag\nimport os\nos._exit(0)\n").await;
    assert!(failure.to_string().contains("exit code 0"), "{failure}");
    let failure = bridge.failure("# airflow dag\nimport ctypes\nctypes.string_at(0)\n").await;
    assert!(failure.to_string().contains("signal 11 (SIGSEGV)"), "{failure}");
    assert!(failure.tail.contains("dag_file.py\", line 3"), "{failure}");
    let failure = bridge.failure("# airflow dag\nimport os, signal\nos.kill(0, signal.SIGKILL)\n").await;
    assert!(failure.to_string().contains("signal 9 (SIGKILL)"), "{failure}");
}

#[tokio::test]
async fn everything_that_a_file_started_dies_with_it() {
    let bridge = Bridge::shared().await;
    let text = format!(
        "import os, subprocess, sys, time
for number in range(50):
    if os.fork() == 0:
        if number % 2:
            os.setsid()
            if os.fork():
                os._exit(0)
        if number % 5 == 0:
            os.execvpe('sleep', ['sleep', '600'], os.environ)
        time.sleep(600)
        os._exit(0)
subprocess.Popen(['sleep', '600'], start_new_session=True)
{DAG}"
    );
    let parsed = bridge.parsed(text).await;
    assert_eq!((parsed.dags.len(), &parsed.import_errors[..]), (1, &[][..]));
}

#[tokio::test]
async fn processes_without_our_environment_die_too() {
    let bridge = Bridge::shared().await;
    let seconds = 100_000 + std::process::id();
    let text = format!(
        "import subprocess
subprocess.Popen(['/bin/sleep', '{seconds}'], start_new_session=True, env={{}})
{DAG}"
    );
    bridge.parsed(text).await;
    let commands = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("cmdline")).ok());
    let wanted = format!("/bin/sleep\0{seconds}\0");
    assert!(!commands.into_iter().any(|command| command == wanted));
}

#[tokio::test]
async fn more_memory_than_allowed_is_an_error_that_names_the_limit() {
    let mut bridge = Bridge::shared().await;
    bridge.limits.memory = Some(1 << 30);
    let error = bridge.import_error("# airflow dag\nx = bytearray(2 << 30)\n").await;
    assert!(error.contains("MemoryError") && error.contains("1024 MiB"), "{error}");
    assert_eq!(bridge.parsed(DAG).await.dags.len(), 1);
}

#[tokio::test]
async fn any_amount_of_output_is_passed_on_in_bounded_pieces() {
    let bridge = Bridge::shared().await;
    let text = format!(
        "import sys
sys.stdout.write('x' * 5_000_000)
for number in range(100_000):
    sys.stderr.write('line %40d\\n' % number)
sys.stdout.buffer.write(b'\\xff\\xfe')
{DAG}"
    );
    assert_eq!(bridge.parsed(text).await.dags.len(), 1);
    let lines = bridge.lines.0.lock().unwrap();
    let length = |wanted| -> usize {
        lines.iter().filter(|(stream, _)| *stream == wanted).map(|(_, line)| line.len()).sum()
    };
    assert!(length(Stream::Stdout) >= 5_000_000, "{}", length(Stream::Stdout));
    assert_eq!(length(Stream::Stderr), 45 * 100_000);
    assert!(lines.iter().all(|(_, line)| line.len() <= 100_000));
}

#[tokio::test]
async fn neither_a_thread_nor_an_exit_handler_delays_the_result_for_long() {
    let mut bridge = Bridge::shared().await;
    bridge.limits.grace = Duration::from_millis(300);
    let text = format!(
        "import atexit, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
atexit.register(time.sleep, 600)
{DAG}"
    );
    assert_eq!(bridge.parsed(text).await.dags.len(), 1);
}

/// What it told in time counts, also if it was the last moment.
#[tokio::test]
async fn an_exit_handler_that_goes_on_beyond_the_time_out_does_not_cost_the_result() {
    let mut bridge = Bridge::shared().await;
    bridge.limits.timeout = Duration::from_secs(4);
    bridge.limits.grace = Duration::from_secs(6);
    let text = format!("import atexit, time\natexit.register(time.sleep, 5)\n{DAG}");
    let report = bridge.report(text).await;
    assert!(matches!(&report.outcome, ParseOutcome::Parsed(parsed) if parsed.dags.len() == 1), "{report:?}");
    assert!(report.duration > bridge.limits.timeout, "{report:?}");
}

#[tokio::test]
async fn a_file_that_vanishes_has_no_dags_as_with_airflow() {
    let bridge = Bridge::shared().await;
    let request = bridge.request("dag_file.py", DAG);
    std::fs::remove_file(&request.file).unwrap();
    let report = bridge.parse(&request).await;
    assert_eq!(report.outcome, ParseOutcome::Parsed(ParsedFile::default()));
    let text = format!("import os\nos.remove(__file__)\n{DAG}");
    assert_eq!(bridge.parsed(text).await.dags.len(), 1);
}

#[tokio::test]
async fn what_writes_to_our_channel_fails_alone() {
    let bridge = Bridge::shared().await;
    let failure = bridge.failure("# airflow dag\nimport os\nos.write(0, b'\\xff' * 64)\n").await;
    assert!(failure.to_string().contains("file descriptor 0"), "{failure}");
    let text = format!("import os\nfor number in range(3):\n    os.close(number)\n{DAG}");
    assert_eq!(bridge.parsed(text).await.dags.len(), 1);
}

#[tokio::test]
async fn an_abandoned_parse_leaves_nothing_behind() {
    let bridge = Bridge::shared().await;
    let request = bridge.request(
        "dag_file.py",
        "# airflow dag\nimport time\nopen(__file__ + '.began', 'w')\ntime.sleep(600)\n",
    );
    let began = bridge.folder.path().join("dag_file.py.began");
    tokio::select! {
        report = bridge.parse(&request) => panic!("{report:?}"),
        () = eventually("the file is being parsed", || began.exists()) => {}
    }
    eventually("only the fork server is left", || bridge.processes().len() == 1).await;
}
