//! Where this process runs.

use ferroflow_config::Environment;

/// Where this process runs, as its row in `job` and the rows of its tasks tell.
#[derive(Clone, Debug)]
pub struct Host {
    /// The name of the host.
    pub name: String,
    /// The user that it runs as.
    pub user: String,
}

impl Host {
    /// This host, and whom the environment names.
    pub fn of(environment: &Environment) -> Self {
        let user =
            ["LOGNAME", "USER", "LNAME", "USERNAME"].into_iter().find_map(|name| environment.var(name));
        let user = user.map_or_else(|| user_of(rustix::process::getuid().as_raw()), str::to_owned);
        Self { name: rustix::system::uname().nodename().to_string_lossy().into_owned(), user }
    }
}

/// The name of a user, or the number where it has none.
fn user_of(number: u32) -> String {
    let number = number.to_string();
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut users = known.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = users.find(|fields| fields.get(2) == Some(&number.as_str()));
    found.and_then(|fields| fields.first().map(|name| (*name).to_owned())).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_a_name_in_the_environment_has_that_of_the_system() {
        assert_eq!(user_of(0), "root");
        assert_eq!(user_of(4_123_456_789), "4123456789");
        assert_eq!(Host::of(&Environment::empty("/").with("LOGNAME", "somebody")).user, "somebody");
    }
}
