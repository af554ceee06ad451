//! Configuration as Airflow's users know it: `airflow.cfg`, `AIRFLOW__SECTION__KEY`, commands and defaults.
//!
//! [`Configuration`] answers for any option what Airflow 3.3.2 would answer, and says where the value came from.
//! [`Settings`] are the options that ferroflow itself obeys, typed; loading them reports every wrong value at once.
//!
//! ```no_run
//! # fn main() -> Result<(), ferroflow_config::Error> {
//! use ferroflow_config::{Configuration, Environment, Settings};
//!
//! let configuration = Configuration::load(&Environment::from_process())?;
//! let settings = Settings::load(&configuration)?;
//! println!("{} task slots", settings.core.parallelism);
//! # Ok(())
//! # }
//! ```
//!
//! This is the only crate that reads the process's environment, and only in [`Environment::from_process`]: all
//! else takes an [`Environment`], so that tests decide what it holds. Nothing here writes a file: a missing
//! `airflow.cfg` means defaults, where Airflow would create one.

mod command;
mod configuration;
mod convert;
mod environment;
mod error;
mod facts;
mod ini;
mod interpolation;
mod listing;
mod python_json;
mod reach;
mod rule;
mod secret;
pub mod sections;
mod settings;
mod suggest;
mod value;
mod warning;

pub use configuration::Configuration;
pub use environment::Environment;
pub use error::{BadValue, Error, Invalid, LineProblem};
pub use listing::Listing;
pub use reach::{Unheeded, UnheededKind};
pub use secret::Secret;
pub use settings::Settings;
pub use suggest::nearest;
pub use value::{Place, Source, Value};
pub use warning::Warning;
