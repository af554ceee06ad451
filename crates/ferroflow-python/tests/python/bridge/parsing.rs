//! Files that people write.

use ferroflow_python::ParseOutcome;
use ferroflow_testkit::{Airflow, Program, given};
use serde_json::Value;

use crate::bridge::support::Bridge;

const SMALL: &str = "
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator

with DAG('small', schedule='@daily', tags=['é', 'a'], params={'big': 10**30, 'one': 1.0}) as dag:
    EmptyOperator(task_id='only')
";

#[tokio::test]
async fn a_document_is_what_airflow_serializes_with_its_numbers_as_they_are() {
    let bridge = Bridge::shared().await;
    let parsed = bridge.parsed(SMALL).await;
    assert_eq!(parsed.import_errors, []);
    let [document] = &parsed.dags[..] else { panic!("{parsed:?}") };
    let script = "import json, sys
from pathlib import Path
from airflow.dag_processing.processor import DagFileParseRequest, _parse_file
import structlog
file = Path(sys.argv[1])
request = DagFileParseRequest(file=str(file), bundle_path=file.parent, bundle_name='tests')
print(json.dumps(_parse_file(request, structlog.get_logger()).serialized_dags[0].data))
";
    let script = bridge.file("official.py", script);
    let database = format!("sqlite:///{}/airflow.db", bridge.folder.path().display());
    let airflow = Airflow::on(&database).with("AIRFLOW_HOME", bridge.home.to_str().unwrap());
    let file = bridge.folder.path().join("dag_file.py");
    let output = airflow.python(script.to_str().unwrap(), &[file.to_str().unwrap()], "").expect_success();
    let expected = output.lines().last().unwrap();
    assert_eq!(sorted(document.text()), sorted(expected));
    assert!(document.text().contains("1000000000000000000000000000000"), "{document}");
    assert!(document.text().contains("1.0"), "{document}");
}

/// Sets are written in any order.
fn sorted(text: &str) -> Value {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(sort);
                if items.iter().all(Value::is_string) {
                    items.sort_by_key(ToString::to_string);
                }
            }
            Value::Object(entries) => entries.values_mut().for_each(sort),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).unwrap();
    sort(&mut value);
    value
}

#[tokio::test]
async fn variables_are_asked_for_and_output_arrives() {
    let bridge = Bridge::shared().await;
    let text = format!(
        "import logging, sys
from airflow.sdk import Variable
print('printed')
print('complained', file=sys.stderr)
logging.getLogger('airflow.mine').warning('logged')
assert Variable.get('unknown', default='x') == 'x'
assert Variable.get('known') == 'forty-two'
{SMALL}"
    );
    let parsed = bridge.parsed(text).await;
    assert_eq!((parsed.dags.len(), &parsed.import_errors[..]), (1, &[][..]));
    let asked = ["GetVariable unknown", "MaskSecret ", "GetVariable known", "MaskSecret "];
    assert_eq!(*bridge.answers.0.lock().unwrap(), asked);
    let lines = bridge.lines.0.lock().unwrap();
    let has = |stream, word: &str| lines.iter().any(|(found, line)| *found == stream && line.contains(word));
    assert!(has(ferroflow_python::Stream::Stdout, "printed"), "{lines:?}");
    assert!(has(ferroflow_python::Stream::Stderr, "complained"), "{lines:?}");
    assert!(has(ferroflow_python::Stream::Log, "\"logged\""), "{lines:?}");
}

#[tokio::test]
async fn a_child_is_a_client_without_database_or_bookkeeping_of_ours() {
    let bridge = Bridge::shared().await;
    let text = format!(
        "import os, sys
from airflow import settings
assert os.environ['_AIRFLOW_PROCESS_CONTEXT'] == 'client'
assert os.environ['AIRFLOW__DATABASE__SQL_ALCHEMY_CONN'] == 'airflow-db-not-allowed:///'
assert os.getpgid(0) == os.getpid()
assert not hasattr(settings, 'engine')
assert len(os.listdir('/proc/self/fd')) < 12, os.listdir('/proc/self/fd')
assert not any(name.startswith('unusual_prefix') and 'warm' in name for name in sys.modules)
{SMALL}"
    );
    let parsed = bridge.parsed(text).await;
    assert_eq!((parsed.dags.len(), &parsed.import_errors[..]), (1, &[][..]));
}

#[tokio::test]
async fn plugins_are_loaded_in_the_child_and_seen_when_they_change() {
    let bridge = Bridge::start().await;
    let plugins = bridge.home.join("plugins");
    std::fs::create_dir_all(&plugins).unwrap();
    for generation in ["One", "Two"] {
        let plugin = format!(
            "from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.simple import NullTimetable
class {generation}Timetable(NullTimetable):
    pass
class Mine(AirflowPlugin):
    name = 'mine'
    timetables = [{generation}Timetable]
"
        );
        std::fs::write(plugins.join(format!("plugin_{generation}.py")), plugin).unwrap();
        let text = format!(
            "from plugin_{generation} import {generation}Timetable
from airflow.sdk import DAG
dag = DAG('custom', schedule={generation}Timetable())
"
        );
        let parsed = bridge.parsed(text).await;
        assert_eq!(parsed.import_errors, []);
        assert!(parsed.dags[0].text().contains(&format!("plugin_{generation}.{generation}Timetable")));
    }
}

#[tokio::test]
async fn what_fails_at_import_is_an_import_error_of_the_file() {
    let bridge = Bridge::shared().await;
    let cases: [(&[u8], &str); 5] = [
        (b"import airflow, dag_that_is_not", "ModuleNotFoundError: No module named 'dag_that_is_not'"),
        (b"# airflow dag\nimport sys\nsys.exit(3)", "SystemExit: 3"),
        (b"# airflow dag\nraise KeyboardInterrupt", "KeyboardInterrupt"),
        (b"# airflow dag\nname = '\xff\xfe'", "SyntaxError"),
        (b"# airflow dag\nx = (", "SyntaxError"),
    ];
    for (text, expected) in cases {
        let error = bridge.import_error(text).await;
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_member_of_an_archive_that_exits_is_an_import_error_of_the_archive() {
    let bridge = Bridge::shared().await;
    let member = bridge.file("member.py", "# airflow dag\nimport sys\nsys.exit(4)\n");
    let archive = bridge.folder.path().join("archive.zip");
    let zip = ["-m", "zipfile", "-c", archive.to_str().unwrap(), member.to_str().unwrap()];
    Program::new(crate::bridge::support::python()).run(&zip).expect_success();
    let mut request = bridge.request("dag_file.py", "");
    request.file = archive;
    let report = bridge.parse(&request).await;
    let ParseOutcome::Parsed(parsed) = report.outcome else { panic!("{report:?}") };
    assert_eq!(parsed.import_errors[0].filename, "archive.zip");
    assert!(parsed.import_errors[0].stacktrace.contains("SystemExit: 4"), "{parsed:?}");
}

#[tokio::test]
async fn callbacks_are_run_in_place_of_serializing() {
    let bridge = Bridge::shared().await;
    let text = "
from airflow.sdk import DAG
def tell(context):
    print('called for', context['run_id'], context['reason'])
dag = DAG('small', schedule=None, on_failure_callback=tell)
";
    let mut request = bridge.request("dag_file.py", text);
    let callback = serde_json::json!({
        "type": "DagCallbackRequest", "filepath": "dag_file.py", "bundle_name": "tests", "bundle_version": null,
        "dag_id": "small", "run_id": "r1", "is_failure_callback": true, "msg": "because",
        "context_from_server": null,
    });
    request.callbacks.push(callback.into());
    let report = bridge.parse(&request).await;
    assert_eq!(report.outcome, ParseOutcome::CallbacksRun);
    let lines = bridge.lines.0.lock().unwrap();
    assert!(lines.iter().any(|(_, line)| line == "called for r1 because"), "{lines:?}");
}

#[tokio::test]
async fn a_callback_that_cannot_be_read_is_told_and_the_file_is_not_parsed_instead() {
    let bridge = Bridge::shared().await;
    let mut request = bridge.request("dag_file.py", SMALL);
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    request.callbacks.push(ferroflow_model::Json::from_text(deep).unwrap());
    let report = bridge.parse(&request).await;
    let ParseOutcome::Failed(failure) = report.outcome else { panic!("{report:?}") };
    let text = failure.to_string();
    assert!(
        text.starts_with("The callback was not run: it holds text that cannot be read as JSON: "),
        "{text}"
    );
    assert!(text.contains("recursion limit"), "{text}");
}

#[tokio::test]
async fn files_of_the_bundle_that_a_file_imports_are_named() {
    let bridge = Bridge::shared().await;
    std::fs::create_dir_all(bridge.folder.path().join("package/inner")).unwrap();
    bridge.file("helper.py", "");
    bridge.file("unused.py", "");
    bridge.file("package/__init__.py", "");
    bridge.file("package/inner/__init__.py", "");
    bridge.file("package/inner/module.py", "import json");
    let text = format!("import helper\nfrom package.inner import module\nimport sys\n{SMALL}");
    let mut imports = bridge.parsed(text).await.imports;
    imports.sort();
    assert_eq!(
        imports,
        ["helper.py", "package/__init__.py", "package/inner/__init__.py", "package/inner/module.py"]
    );
    let failing = bridge.parsed(format!("import helper\nraise ValueError\n{SMALL}")).await;
    assert_eq!((failing.import_errors.len(), &failing.imports[..]), (1, &["helper.py".to_owned()][..]));
}

#[tokio::test]
async fn the_example_of_the_tutorial_is_parsed() {
    let bridge = Bridge::shared().await;
    let examples = std::path::Path::new(&given("VENV")).join("lib");
    let site = std::fs::read_dir(examples).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read(site.join("site-packages/airflow/example_dags/tutorial.py")).unwrap();
    let report = bridge.report(text).await;
    let ParseOutcome::Parsed(parsed) = report.outcome else { panic!("{report:?}") };
    assert_eq!((parsed.dags.len(), &parsed.import_errors[..]), (1, &[][..]));
    assert!(report.usage.max_rss > 1 << 20 && !report.duration.is_zero(), "{:?}", report.usage);
}
