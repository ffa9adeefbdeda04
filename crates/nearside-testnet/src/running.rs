//! A program that ends with its test.

use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

/// A child process, killed when this is dropped. `id()` is the program's own: [`Host::command`]
/// replaces itself by it.
///
/// [`Host::command`]: crate::Host::command
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts it.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// Stops it where it stands (SIGSTOP): its sockets stay open and nobody reads them.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on (SIGCONT).
    pub fn thaw(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.0), signal)?)
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has ended.
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}
