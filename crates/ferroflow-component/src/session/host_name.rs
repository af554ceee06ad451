//! What rows call this host: where the logs of its tasks are asked for, and whose components they are.

use std::net::ToSocketAddrs as _;
use std::path::Path;

use dns_lookup::{AddrInfoHints, SockType, getaddrinfo};
use ferroflow_python::host_name;

use crate::Error;

/// Asks the resolver for the full name (`AI_CANONNAME`).
const CANONICAL_NAME: i32 = 2;

/// The name that a function gives to a host that calls itself so (`[core] hostname_callable`). Those functions that
/// Airflow and its guides name need no Python.
pub(super) fn of<'p>(
    function: &str,
    own_name: String,
    python: impl FnOnce() -> Result<&'p Path, Error>,
) -> Result<String, Error> {
    Ok(match function {
        "airflow.utils.net.getfqdn" => full_name(own_name),
        "airflow.utils.net.get_host_ip_address" => address(full_name(own_name))?,
        "socket.gethostname" => own_name,
        _ => host_name::ask(python()?, function)?,
    })
}

/// What the resolver calls this host, or else what the host calls itself.
fn full_name(own_name: String) -> String {
    let hints =
        AddrInfoHints { flags: CANONICAL_NAME, socktype: SockType::DGram.into(), ..AddrInfoHints::default() };
    let found = getaddrinfo(Some(&own_name), None, Some(hints)).ok();
    let full = found.and_then(|mut found| found.find_map(|one| one.ok()?.canonname));
    full.filter(|full| !full.is_empty()).unwrap_or(own_name)
}

fn address(name: String) -> Result<String, Error> {
    let mut found = match (name.as_str(), 0).to_socket_addrs() {
        Ok(found) => found,
        Err(source) => return Err(Error::NoAddress { name, source }),
    };
    let address = found.find(std::net::SocketAddr::is_ipv4);
    address.map(|address| address.ip().to_string()).ok_or(Error::NoIpv4Address(name))
}
