//! DAG bundles, through helpers: their classes are Python.
//!
//! Each bundle has a process of its own, so that a repository that does not answer holds back nothing but itself.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferroflow_model::Json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::ForkServer;
use crate::asking::locked;
use crate::helper::{Helper, HelperError, Helpers};

/// The bundles of an installation.
pub struct Bundles {
    server: ForkServer,
    limit: Duration,
    configuration: Helper,
    helpers: Mutex<HashMap<String, Arc<Helper>>>,
    /// Who goes back to versions: one that cannot be had keeps neither others waiting nor the bundle itself.
    past: Mutex<HashMap<String, Arc<Helpers>>>,
}

/// How many past versions of a bundle are made available at once.
const PAST_AT_ONCE: usize = 4;

/// Why nothing is known of a bundle, or of all.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The list of bundles is wrong.
    #[error("the DAG bundles cannot be had: check [dag_processor] dag_bundle_config_list")]
    Configuration(#[source] HelperError),
    /// A bundle's class fails.
    #[error("DAG bundle {name}: it cannot {action}")]
    Failed {
        /// The bundle.
        name: String,
        /// What it was to do.
        action: &'static str,
        /// How it failed.
        #[source]
        source: HelperError,
    },
    /// An answer makes no sense.
    #[error("DAG bundle {name}: its class gave an answer of the wrong type: {problem}")]
    Nonsense {
        /// The bundle.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

/// A bundle as it is configured.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ConfiguredBundle {
    /// Its name.
    pub name: String,
    /// The import path of its class.
    pub classpath: String,
    /// The arguments of the class: an object.
    #[serde(deserialize_with = "json_text")]
    pub kwargs: Json,
    /// The team that it belongs to.
    pub team_name: Option<String>,
    /// The folder, if the class is exactly Airflow's local one: that needs no Python, has no versions, and its
    /// refresh does nothing.
    pub local_path: Option<PathBuf>,
}

/// What a bundle says of itself before it is initialized.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct DescribedBundle {
    /// How often it is refreshed.
    #[serde(deserialize_with = "seconds")]
    pub refresh_interval: Duration,
    /// Whether it has versions.
    pub supports_versioning: bool,
    /// Where to look at it: what `dag_bundle.signed_url_template` holds.
    pub signed_url_template: Option<String>,
    /// What goes into that: an object.
    #[serde(deserialize_with = "json_text")]
    pub template_params: Json,
}

/// Where a bundle is, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BundleState {
    /// Its folder.
    pub path: PathBuf,
    /// Its version, if it has versions.
    pub version: Option<String>,
    /// What belongs to the version, if the class has more to say.
    #[serde(deserialize_with = "maybe_json_text")]
    pub version_data: Option<Json>,
}

#[derive(Deserialize)]
struct Folder {
    path: PathBuf,
}

impl Bundles {
    /// Bundles that may take up to `limit` (`[ferroflow] bundle_timeout`) for each thing they do.
    pub fn new(server: ForkServer, limit: Duration) -> Self {
        let configuration = Helper::new(server.clone(), "the list of DAG bundles");
        Self { server, limit, configuration, helpers: Mutex::default(), past: Mutex::default() }
    }

    /// What is configured, with the examples if `[core] load_examples` asks for them.
    pub async fn list(&self) -> Result<Vec<ConfiguredBundle>, BundleError> {
        let list = self.configuration.call("bundles.list", json!({}), self.limit).await;
        read("(all)", list.map_err(BundleError::Configuration)?)
    }

    /// Removes versions that were not used for a while, as `[dag_processor] stale_bundle_cleanup_…` say.
    pub async fn remove_stale_versions(&self) -> Result<(), BundleError> {
        let done = self.configuration.call("bundles.cleanup_stale_versions", json!({}), self.limit).await;
        done.map(drop).map_err(BundleError::Configuration)
    }

    /// What is known of a bundle before it is initialized.
    pub async fn describe(&self, name: &str) -> Result<DescribedBundle, BundleError> {
        self.ask(name, "bundle.describe", "be made", json!({"name": name})).await
    }

    /// Makes its files available.
    pub async fn initialize(&self, name: &str) -> Result<BundleState, BundleError> {
        self.ask(name, "bundle.initialize", "be initialized", json!({"name": name})).await
    }

    /// Brings its files up to date, and initializes it if need be.
    pub async fn refresh(&self, name: &str) -> Result<BundleState, BundleError> {
        self.ask(name, "bundle.refresh", "be refreshed", json!({"name": name})).await
    }

    /// Its version at this moment, without a refresh.
    pub async fn version(&self, name: &str) -> Result<BundleState, BundleError> {
        self.ask(name, "bundle.version", "tell its version", json!({"name": name})).await
    }

    /// The folder of a past version, for a callback. A bundle without versions has but one folder.
    pub async fn initialize_version(
        &self,
        name: &str,
        version: Option<&str>,
    ) -> Result<PathBuf, BundleError> {
        let params = json!({"name": name, "version": version});
        let (method, action) = ("bundle.initialize_version", "go back to a version");
        let folder: Folder = if version.is_some() {
            let past = self.past(name);
            let answer = past.seat().await.call(method, params, self.limit).await;
            read(
                name,
                answer.map_err(|source| BundleError::Failed { name: name.to_owned(), action, source })?,
            )?
        } else {
            self.ask(name, method, action, params).await?
        };
        Ok(folder.path)
    }

    /// Ends the processes, so that the next questions find the classes as they are now.
    pub async fn restart(&self) {
        self.configuration.restart().await;
        let helpers: Vec<Arc<Helper>> = locked(&self.helpers).drain().map(|(_, helper)| helper).collect();
        for helper in helpers {
            helper.restart().await;
        }
        let past: Vec<Arc<Helpers>> = locked(&self.past).drain().map(|(_, helpers)| helpers).collect();
        for helpers in past {
            helpers.restart().await;
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        name: &str,
        method: &str,
        action: &'static str,
        params: Value,
    ) -> Result<T, BundleError> {
        let helper = self.helper(name);
        let answer = helper.call(method, params, self.limit).await;
        read(name, answer.map_err(|source| BundleError::Failed { name: name.to_owned(), action, source })?)
    }

    fn helper(&self, name: &str) -> Arc<Helper> {
        let make = || Arc::new(Helper::new(self.server.clone(), format!("DAG bundle {name}")));
        Arc::clone(locked(&self.helpers).entry(name.to_owned()).or_insert_with(make))
    }

    fn past(&self, name: &str) -> Arc<Helpers> {
        let purpose = format!("past versions of DAG bundle {name}");
        let make = || Arc::new(Helpers::new(self.server.clone(), &purpose, PAST_AT_ONCE));
        Arc::clone(locked(&self.past).entry(name.to_owned()).or_insert_with(make))
    }
}

fn read<T: DeserializeOwned>(name: &str, answer: Value) -> Result<T, BundleError> {
    serde_json::from_value(answer)
        .map_err(|problem| BundleError::Nonsense { name: name.to_owned(), problem: problem.to_string() })
}

fn json_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    Ok(Json::from(Value::deserialize(deserializer)?))
}

fn maybe_json_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.map(Json::from))
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}
