//! Tasks that are forked from a process which has their file imported.

use ferroflow_testkit::Server;

use crate::faults::stage::Stage;

#[tokio::test]
async fn tasks_of_a_template_see_the_file_as_it_is() {
    let stage = Stage::on(Server::Sqlite).await.with("AIRFLOW__FERROFLOW__TASK_TEMPLATES", "2");
    stage.place.write("helping.py", "VALUE = 1\n");
    stage.write(
        "import helping\nEDITION = 1\ntrace('imported', EDITION, helping.VALUE)\n",
        r#"
def edit(name, old, new):
    file = ROOT / "main" / name
    file.write_text(file.read_text().replace(old, new, 1))

@task
def first():
    trace("first", EDITION, helping.VALUE)

@task
def second():
    trace("second", EDITION, helping.VALUE)
    edit("helping.py", "VALUE = 1", "VALUE = 2")

@task
def third():
    trace("third", EDITION, helping.VALUE)
    edit("faults.py", "EDITION = 1", "EDITION = 2")

@task
def fourth():
    trace("fourth", EDITION, helping.VALUE)

@task(retries=1, retry_delay=timedelta(seconds=1))
def kills_its_template():
    if ran() == 1:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)

first() >> second() >> third() >> fourth() >> kills_its_template()
"#,
    );
    let (is_good, output) = stage.run(120);
    assert!(is_good, "{output}");
    let expected = [
        // By whoever stores the DAG, and by the template.
        "imported 1 1",
        "imported 1 1",
        "first 1 1",
        "second 1 1",
        "imported 1 2",
        "third 1 2",
        "imported 2 2",
        "fourth 2 2",
        "ran kills_its_template 1",
        "imported 2 2",
        "ran kills_its_template 2",
    ];
    assert_eq!(stage.trace(), expected, "{output}");
    assert_eq!(stage.states().await["kills_its_template"], "success 2");
    let critical = stage.critical("kills_its_template", 1);
    assert!(critical.len() == 1 && critical[0].contains("DAG file imported"), "{critical:?}");
}

#[tokio::test]
async fn a_file_that_asks_while_it_is_imported_is_imported_by_each_task() {
    let stage = Stage::on(Server::Sqlite).await.with("AIRFLOW__FERROFLOW__TASK_TEMPLATES", "2");
    let insert = "INSERT INTO variable (key, val, is_encrypted) VALUES ('asked', 'here', false)";
    stage.place.db().execute(insert).await;
    stage.write(
        "trace('importing')\nASKED = Variable.get('asked')\n",
        r#"
@task
def first():
    trace("first", ASKED)

@task
def second():
    trace("second", ASKED)

first() >> second()
"#,
    );
    let (is_good, output) = stage.run(90);
    assert!(is_good, "{output}");
    assert_eq!((stage.count("first here"), stage.count("second here")), (1, 1), "{output}");
    // For the DAG to be stored, to see that it is not fit, and for each task.
    assert_eq!(stage.count("importing"), 4, "{:?}", stage.trace());
}
