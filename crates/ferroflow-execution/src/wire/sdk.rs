//! Which messages the child's own Airflow knows.

use std::str::FromStr;

use rmpv::Value;

/// The version of Airflow's task SDK in a child, as far as messages differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SdkVersion {
    /// The first number.
    pub major: u32,
    /// The second.
    pub minor: u32,
}

/// A text that is no version.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no version of the task SDK, such as 1.3.2")]
pub struct NoSdkVersion(String);

impl SdkVersion {
    /// That of Airflow 3.3, whose messages are the yardstick.
    pub const CURRENT: Self = Self { major: 1, minor: 3 };
    /// That of Airflow 3.2.
    const WITH_PARTITIONS: Self = Self { major: 1, minor: 2 };

    /// Whether its models have partitions.
    pub fn knows_partitions(self) -> bool {
        self >= Self::WITH_PARTITIONS
    }

    /// What it calls the answer to `GetXComCount`.
    pub(super) fn count_response(self) -> &'static str {
        if self >= Self::CURRENT { "XComCountResponse" } else { "XComLengthResponse" }
    }

    /// Takes away from a run what its closed model does not know, and fills in what older ones need.
    pub fn narrow_run(self, run: &mut Value) {
        let Value::Map(fields) = run else { return };
        let is_known = |name: &str| match name {
            "partition_date" | "team_name" => self >= Self::CURRENT,
            // Not every release of 1.1 knows who triggered a run; none needs it.
            "partition_key" | "note" | "triggering_user_name" => self.knows_partitions(),
            _ => true,
        };
        fields.retain(|(name, _)| name.as_str().is_none_or(is_known));
        if self.knows_partitions() {
            return;
        }
        let run_after = fields.iter().find(|(name, _)| name.as_str() == Some("run_after"));
        let run_after = run_after.map_or(Value::Nil, |(_, value)| value.clone());
        for (name, value) in fields.iter_mut().filter(|(_, value)| value.is_nil()) {
            match name.as_str() {
                Some("start_date") => *value = run_after.clone(),
                Some("conf") => *value = Value::Map(Vec::new()),
                _ => {}
            }
        }
    }
}

impl FromStr for SdkVersion {
    type Err = NoSdkVersion;

    /// Reads `1.3.2`, and `1.4.0.dev0` as well: what follows the second number does not matter.
    fn from_str(text: &str) -> Result<Self, NoSdkVersion> {
        let mut numbers = text.split('.').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Self { major, minor }),
            _ => Err(NoSdkVersion(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::wire::value::map;

    #[test_case("1.3.2" => Ok(SdkVersion::CURRENT))]
    #[test_case("1.4.0.dev0" => Ok(SdkVersion { major: 1, minor: 4 }))]
    #[test_case("2" => Err(NoSdkVersion("2".to_owned())))]
    #[test_case("new" => Err(NoSdkVersion("new".to_owned())))]
    fn versions_are_read(text: &str) -> Result<SdkVersion, NoSdkVersion> {
        text.parse()
    }

    // What Airflow's own converters (`execution_api/versions`) leave of a run for the clients of each release.
    #[test_case("1.3.2" => "conf=nil partition_date=nil partition_key=nil note=nil team_name=nil \
        triggering_user_name=nil run_after=1 start_date=nil"; "current")]
    #[test_case("1.2.0" => "conf=nil partition_key=nil note=nil triggering_user_name=nil run_after=1 \
        start_date=nil"; "airflow 3.2")]
    #[test_case("1.1.8" => "conf={} run_after=1 start_date=1"; "airflow 3.1")]
    fn older_models_get_what_they_know(version: &str) -> String {
        let names = ["partition_date", "partition_key", "note", "team_name", "triggering_user_name"];
        let mut run = map([("conf", Value::Nil)]);
        if let Value::Map(fields) = &mut run {
            fields.extend(names.map(|name| (name.into(), Value::Nil)));
            fields.push(("run_after".into(), 1.into()));
            fields.push(("start_date".into(), Value::Nil));
        }
        version.parse::<SdkVersion>().unwrap().narrow_run(&mut run);
        let fields =
            run.as_map().unwrap().iter().map(|(name, value)| format!("{}={value}", name.as_str().unwrap()));
        fields.collect::<Vec<_>>().join(" ")
    }

    #[test_case("1.3.2" => "XComCountResponse")]
    #[test_case("1.2.1" => "XComLengthResponse")]
    fn the_count_of_xcoms_has_two_names(version: &str) -> &'static str {
        version.parse::<SdkVersion>().unwrap().count_response()
    }
}
