//! A timetable of somebody's own that hangs keeps no other file from being stored.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, simple_dag, wait_until};

use crate::dag_processing::FERROFLOW;

const PLUGIN: &str = "\
import time
from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import Timetable

class Hangs(Timetable):
    def __init__(self, number):
        self.number = number

    def serialize(self):
        return {'number': self.number}

    @classmethod
    def deserialize(cls, data):
        time.sleep(3600)

class Plugin(AirflowPlugin):
    name = 'plugin'
    timetables = [Hangs]
";

/// More of them than results of one child may wait for the database, and each has another timetable.
#[tokio::test]
async fn timetables_that_hang_keep_no_other_file_waiting() {
    let place = Place::on(Server::Sqlite).await;
    let plugins = place.root().join("plugins");
    std::fs::create_dir(&plugins).expect("a folder is made");
    std::fs::write(plugins.join("plugin.py"), PLUGIN).expect("a plugin is written");
    let place = place
        .with("AIRFLOW__CORE__PLUGINS_FOLDER", &plugins.display().to_string())
        .with("AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES", "1")
        .with("AIRFLOW__DAG_PROCESSOR__FILE_PARSING_SORT_MODE", "alphabetical")
        .with("AIRFLOW__FERROFLOW__TIMETABLE_TIMEOUT", "3600");
    for number in 0..6 {
        let schedule = format!("schedule=Hangs({number})");
        let dag = simple_dag(&format!("hangs_{number}")).replace("schedule='@daily'", &schedule);
        place.write(&format!("hangs_{number}.py"), format!("from plugin import Hangs\n{dag}"));
    }
    place.write_dag("late");
    let running = place.start(FERROFLOW, &["dag-processor"]);
    let mut observer = place.observe();
    assert!(wait_until(90, || observer.serialized() == ["late"]), "{}", running.log());
}
