//! The Python half of the bridge, built into the binary.
//!
//! It goes to Python through an anonymous file in memory: there is nothing to install, and nothing on disk that
//! could differ from the binary or change while it runs.

use std::io::{Seek as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};

/// What `python -c` is told: leave the terminal's session, receive the sources, run them.
pub(crate) const BOOTSTRAP: &str = "\
import json, os, socket
os.setsid()
control = socket.socket(fileno=0)
control.setblocking(True)
purpose, fds, _, _ = socket.recv_fds(control, 64, 1)
with os.fdopen(fds[0], 'rb') as file:
    sources = json.load(file)
bootstrap = {'__name__': 'ferroflow_bridge.bootstrap'}
exec(compile(sources['ferroflow_bridge.bootstrap'], '<ferroflow_bridge.bootstrap>', 'exec'), bootstrap)
bootstrap['start'](control, sources, purpose.decode())
";

macro_rules! module {
    ($name:literal, $file:literal) => {
        ($name, include_str!(concat!("../python/ferroflow_bridge/", $file, ".py")))
    };
}

const SOURCES: &[(&str, &str)] = &[
    module!("ferroflow_bridge", "__init__"),
    module!("ferroflow_bridge.bootstrap", "bootstrap"),
    module!("ferroflow_bridge.bundles", "bundles"),
    module!("ferroflow_bridge.callback", "callback"),
    module!("ferroflow_bridge.child", "child"),
    module!("ferroflow_bridge.connections", "connections"),
    module!("ferroflow_bridge.connection_test", "connection_test"),
    module!("ferroflow_bridge.deadlines", "deadlines"),
    module!("ferroflow_bridge.extensions", "extensions"),
    module!("ferroflow_bridge.fork_server", "fork_server"),
    module!("ferroflow_bridge.helper", "helper"),
    module!("ferroflow_bridge.hot_pages", "hot_pages"),
    module!("ferroflow_bridge.listeners", "listeners"),
    module!("ferroflow_bridge.native_crash", "native_crash"),
    module!("ferroflow_bridge.parse", "parse"),
    module!("ferroflow_bridge.partitions", "partitions"),
    module!("ferroflow_bridge.rendering", "rendering"),
    module!("ferroflow_bridge.strays", "strays"),
    module!("ferroflow_bridge.successive", "successive"),
    module!("ferroflow_bridge.survey", "survey"),
    module!("ferroflow_bridge.synthetic_task", "synthetic_task"),
    module!("ferroflow_bridge.system", "system"),
    module!("ferroflow_bridge.task", "task"),
    module!("ferroflow_bridge.task_instances", "task_instances"),
    module!("ferroflow_bridge.template", "template"),
    module!("ferroflow_bridge.timetables", "timetables"),
    module!("ferroflow_bridge.titles", "titles"),
    module!("ferroflow_bridge.warm_up", "warm_up"),
    module!("ferroflow_bridge.workload", "workload"),
];

/// The sources by module, as JSON in an anonymous file.
pub(crate) fn in_memory() -> std::io::Result<OwnedFd> {
    let sources: std::collections::BTreeMap<_, _> = SOURCES.iter().copied().collect();
    let mut file = std::fs::File::from(memfd_create("ferroflow_bridge", MemfdFlags::CLOEXEC)?);
    file.write_all(&serde_json::to_vec(&sources)?)?;
    file.rewind()?;
    Ok(file.into())
}
