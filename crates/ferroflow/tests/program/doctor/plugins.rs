//! Extension points, and DAGs that use them.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::Place;

use crate::doctor::{FERROFLOW, findings, is_there};

const PLUGIN: &str = "
from airflow.listeners import hookimpl
from airflow.partition_mappers.base import PartitionMapper
from airflow.plugins_manager import AirflowPlugin
from airflow.task.priority_strategy import PriorityWeightStrategy
from airflow.timetables.assets import AssetTriggeredTimetable
from airflow.timetables.interval import CronDataIntervalTimetable


class MarketDays(CronDataIntervalTimetable):
    def __init__(self):
        super().__init__('0 6 * * *', 'UTC')

    def serialize(self):
        return {}

    @classmethod
    def deserialize(cls, data):
        return cls()


class AnyTwoAssets(AssetTriggeredTimetable):
    pass


class Shouting(PartitionMapper):
    is_rollup = True

    def to_downstream(self, key):
        return key.upper()


class Heavy(PriorityWeightStrategy):
    def get_weight(self, ti):
        return 9


class Listener:
    @hookimpl
    def on_dag_run_success(self, dag_run, msg):
        pass


class Site(AirflowPlugin):
    name = 'site'
    timetables = [MarketDays, AnyTwoAssets]
    partition_mappers = [Shouting]
    priority_weight_strategies = [Heavy]
    listeners = [Listener()]
";

const DAG: &str = "
from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, PartitionedAssetTimetable

from site_plugin import MarketDays, Shouting

with DAG('trades', schedule=MarketDays(), start_date=datetime(2024, 1, 1)):
    EmptyOperator(task_id='quiet', executor='LocalExecutor')
    EmptyOperator(task_id='remote', run_as_user='ada')

by_partitions = PartitionedAssetTimetable(assets=Asset('orders'), default_partition_mapper=Shouting())
with DAG('parts', schedule=by_partitions, start_date=datetime(2024, 1, 1)):
    EmptyOperator(task_id='quiet')
";

const LOCAL_SETTINGS: &str = "
def task_instance_mutation_hook(task_instance):
    pass


def dag_policy(dag):
    pass
";

#[tokio::test]
async fn what_is_in_use_is_told_with_how_it_is_served() {
    let place = Place::on(Server::Postgres).await;
    let in_home = |file: &str, text: &str| {
        let path = place.root().join("home").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    in_home("plugins/site_plugin.py", PLUGIN);
    in_home("plugins/unfinished.py", "import nothing_of_this_name\n");
    in_home("config/airflow_local_settings.py", LOCAL_SETTINGS);
    place.write("trades.py", DAG);
    place.process_once(FERROFLOW);
    let (code, found) = findings(&place, &[]);
    assert_eq!(code, Some(0), "{found:#?}");
    let points = "Plugins and extension points: ";
    for (level, words) in [
        ("ok", ["timetable site_plugin.MarketDays", "Python process"]),
        ("ok", ["timetable site_plugin.AnyTwoAssets", "Python process"]),
        ("ok", ["partition mapper or window site_plugin.Shouting", "timetable_timeout"]),
        ("ok", ["weight rule site_plugin.Heavy", "site_plugin.py"]),
        ("ok", ["listener site_plugin (on_dag_run_success)", "after the commit"]),
        ("ok", ["task_instance_mutation_hook (airflow_local_settings)", "Python process"]),
        ("ok", ["dag_policy (airflow_local_settings)", "parsed"]),
        ("warning", ["a plugin cannot be loaded", "unfinished.py"]),
    ] {
        assert!(is_there(&found, &format!("{level} {points}"), &words), "{level} {words:?}\n{found:#?}");
    }
    for (level, words) in [
        ("ok", "timetable site_plugin.MarketDays of trades is asked in Python"),
        ("ok", "partition mapper site_plugin.Shouting of parts is asked in Python"),
        ("ok", "tasks of trades name the executor LocalExecutor"),
        ("warning", "tasks of trades run as the user ada"),
    ] {
        assert!(is_there(&found, &format!("{level} DAGs: "), &[words]), "{level} {words}\n{found:#?}");
    }
    let place = place.with("AIRFLOW__SECRETS__BACKEND", "nowhere.Vault");
    let (code, found) = findings(&place, &[]);
    assert_eq!(code, Some(1), "{found:#?}");
    assert!(
        found.iter().any(|found| found.starts_with("problem") && found.contains("nowhere")),
        "{found:#?}"
    );
}
