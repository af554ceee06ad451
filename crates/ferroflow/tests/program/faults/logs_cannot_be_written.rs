//! A log that cannot be written costs its lines, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;

use ferroflow_testkit::Server;

use crate::faults::stage::Stage;

#[tokio::test]
async fn tasks_run_without_a_log_if_there_is_no_room_for_it() {
    let stage = Stage::on(Server::Sqlite)
        .await
        .with("AIRFLOW__LOGGING__LOG_FILENAME_TEMPLATE", "{{ ti.task_id }}/attempt={{ ti.try_number }}.log");
    let logs = stage.place.root().join("home/logs");
    fs::create_dir_all(logs.join("disk_full")).unwrap();
    symlink("/dev/full", logs.join("disk_full/attempt=1.log")).unwrap();
    fs::write(logs.join("no_folder"), "a file where a folder should be").unwrap();
    stage.write(
        "",
        r#"
for name in ["disk_full", "no_folder", "good"]:
    @task(task_id=name)
    def talks():
        ran()
        for number in range(1000):
            print("line", number)
        return "done"
    talks()
"#,
    );
    let (is_good, output) = stage.run(90);
    assert!(is_good, "{output}");
    assert!(stage.states().await.values().all(|state| state == "success 1"), "{output}");
    assert_eq!(stage.trace().len(), 3);
    let said = |words: &str| output.lines().filter(|line| line.contains(words)).count();
    assert_eq!(said("the log of a task cannot be written"), 1, "{output}");
    assert_eq!(said("the log of a task cannot be opened"), 1, "{output}");
    for file in ["disk_full/attempt=1.log", "no_folder"] {
        assert!(output.contains(file), "{file}\n{output}");
    }
    let good = fs::read_to_string(logs.join("good/attempt=1.log")).unwrap();
    assert!(good.contains("line 999"), "{good}");
    assert_eq!(fs::read_to_string(logs.join("no_folder")).unwrap(), "a file where a folder should be");
}
