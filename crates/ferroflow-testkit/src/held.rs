//! A process that cannot be killed.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Has a process, which this one or a descendant has started, stop when it is about to end: killed, it is there still, as
/// one is that waits for a file system which does not answer. It ends when this is dropped.
#[derive(Debug)]
pub struct Held {
    let_go: Option<Sender<()>>,
    holder: Option<JoinHandle<()>>,
}

impl Held {
    /// Holds a process.
    pub fn new(pid: i32) -> Self {
        let (let_go, letting_go) = channel::<()>();
        let (held, holding) = channel();
        // The kernel lets go of it when the thread ends that holds it.
        let holder = std::thread::spawn(move || {
            let seized = seize(pid);
            let is_held = seized.is_ok();
            drop(held.send(seized));
            if is_held {
                let _ = letting_go.recv();
            }
        });
        let seized = holding.recv().expect("the thread tells");
        seized.unwrap_or_else(|error| panic!("process {pid} cannot be held: {error}"));
        Self { let_go: Some(let_go), holder: Some(holder) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.let_go.take());
        drop(self.holder.take().map(JoinHandle::join));
    }
}

#[expect(unsafe_code, reason = "there is no other way to the system call")]
fn seize(pid: i32) -> std::io::Result<()> {
    // SAFETY: nothing of this process is read or written; the pointers are not used as such.
    let answer = unsafe {
        libc::ptrace(
            libc::PTRACE_SEIZE,
            pid,
            std::ptr::null_mut::<libc::c_void>(),
            std::ptr::without_provenance_mut::<libc::c_void>(libc::PTRACE_O_TRACEEXIT as usize),
        )
    };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
