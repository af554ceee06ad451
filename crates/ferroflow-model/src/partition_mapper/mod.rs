//! How the partition keys of an asset become the partition keys of a DAG's runs.
//!
//! When an asset gets a partition, [`PartitionMapper::to_downstream`] says to which partitions of a DAG it belongs.
//! Before such a partition is run, [`PartitionMapper::to_upstream`] says which partitions of the asset it is made
//! of, and [`WaitPolicy::judge`] whether enough of them are there. A mapper that is not one of Airflow's own can
//! only be asked in Python; [`KeyProblem::NeedsPython`] says so.

mod date;
mod decode;
mod downstream;
mod encode;
mod output_format;
mod problem;
mod start_of;
mod upstream;
mod wait;
mod window;

use std::num::NonZeroI32;

use crate::Json;
use crate::state::words;
use crate::timetable::Zone;

pub use output_format::FormatProblem;
pub use problem::KeyProblem;
pub use wait::Shortfall;

/// A partition mapper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMapper {
    /// What it does.
    pub kind: MapperKind,
    /// How many downstream keys one upstream key may give, if that is limited.
    pub max_downstream_keys: Option<u32>,
}

/// What a partition mapper does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapperKind {
    /// Leaves the key as it is.
    Identity,
    /// Refuses keys that are not among these.
    AllowedKeys(Vec<String>),
    /// Gives one key, whatever came in.
    FixedKey(String),
    /// Takes the key for a time and gives the start of the period around it.
    StartOf {
        /// The period.
        period: Period,
        /// Where times without an offset are.
        timezone: Zone,
        /// How the upstream key is written, for `strptime`.
        input_format: String,
        /// How the downstream key is written, for `strftime`.
        output_format: String,
    },
    /// One mapper after the other.
    Chain(Vec<PartitionMapper>),
    /// One mapper for each segment of a key.
    Product {
        /// The mappers, in the order of the segments.
        mappers: Vec<PartitionMapper>,
        /// What stands between the segments.
        delimiter: String,
    },
    /// Many upstream keys are one downstream key.
    Rollup {
        /// Gives the downstream key.
        upstream: Box<PartitionMapper>,
        /// Which upstream keys belong to it.
        window: Window,
        /// How many of them must be there.
        wait: WaitPolicy,
    },
    /// One upstream key is many downstream keys.
    FanOut {
        /// Gives the period.
        upstream: Box<PartitionMapper>,
        /// What the period is made of.
        window: Window,
        /// Writes the downstream keys.
        downstream: Box<PartitionMapper>,
    },
    /// A custom class.
    Custom {
        /// Its import path.
        class: String,
        /// What it serialized to.
        data: Json,
    },
}

words! {
    /// A span of the calendar.
    Period, "period":
    /// An hour.
    Hour = "Hour",
    /// A day.
    Day = "Day",
    /// A week.
    Week = "Week",
    /// A month.
    Month = "Month",
    /// Three months.
    Quarter = "Quarter",
    /// A year.
    Year = "Year",
}

words! {
    /// On which side of its anchor a window lies.
    Direction, "direction of a window":
    /// It ends at the anchor.
    Backward = "backward",
    /// It begins at the anchor.
    Forward = "forward",
}

/// The upstream keys that make up one downstream period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Window {
    /// The parts of a period.
    Period {
        /// The period.
        period: Period,
        /// Whether it begins or ends at the key.
        direction: Direction,
    },
    /// A fixed set of keys.
    Segments(Vec<String>),
    /// A custom class.
    Custom {
        /// Its import path.
        class: String,
        /// What it serialized to.
        data: Json,
    },
}

/// When enough of a window is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// When all of it is.
    All,
    /// When this many keys are; a negative number says how many may be missing.
    AtLeast(NonZeroI32),
}

/// How many characters the key of a partition may have: so many has the column.
pub const MAX_KEY_LENGTH: usize = 250;

/// A custom class that takes part in mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnClass<'m> {
    /// A mapper, by its import path.
    Mapper(&'m str),
    /// A window.
    Window(&'m str),
}

impl<'m> OwnClass<'m> {
    /// The import path.
    pub fn path(&self) -> &'m str {
        match self {
            Self::Mapper(path) | Self::Window(path) => path,
        }
    }
}

const MAPPERS: &str = "airflow.partition_mappers.";
const WINDOWS: &str = "airflow.partition_mappers.window.";
const WAIT_POLICIES: &str = "airflow.partition_mappers.wait_policy.";

impl PartitionMapper {
    /// Whether a run has to wait for several upstream keys. Of a custom class this cannot be known
    /// here; it counts as one that does not wait.
    pub fn is_rollup(&self) -> bool {
        matches!(self.kind, MapperKind::Rollup { .. })
    }

    /// The custom classes, wherever they are. With one of them, Python has to be asked.
    pub fn own_classes(&self) -> Vec<OwnClass<'_>> {
        match &self.kind {
            MapperKind::Custom { class, .. } => vec![OwnClass::Mapper(class)],
            MapperKind::Chain(mappers) | MapperKind::Product { mappers, .. } => {
                mappers.iter().flat_map(Self::own_classes).collect()
            }
            MapperKind::Rollup { upstream, window, .. } => {
                upstream.own_classes().into_iter().chain(window.own_class()).collect()
            }
            MapperKind::FanOut { upstream, window, downstream } => {
                let mappers = [upstream, downstream].into_iter().flat_map(|mapper| mapper.own_classes());
                mappers.chain(window.own_class()).collect()
            }
            MapperKind::Identity
            | MapperKind::AllowedKeys(_)
            | MapperKind::FixedKey(_)
            | MapperKind::StartOf { .. } => Vec::new(),
        }
    }
}

impl Window {
    fn own_class(&self) -> Option<OwnClass<'_>> {
        match self {
            Self::Custom { class, .. } => Some(OwnClass::Window(class)),
            Self::Period { .. } | Self::Segments(_) => None,
        }
    }
}

#[cfg(test)]
mod key_tests;
#[cfg(test)]
mod tests;
