//! Ctrl-C and SIGTERM end a server, SIGHUP makes it read its files again. `ctrlc`, which other
//! commands use, takes SIGHUP for an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result};
use nearside_net::Stop;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What was signalled.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Signals {
    pub(in crate::commands) stop: Stop,
    reload: Arc<AtomicBool>,
}

impl Signals {
    /// Catches the signals from here on.
    pub(in crate::commands) fn catch() -> Result<Self> {
        let signals = Self {
            stop: Stop::new()?,
            reload: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start a thread for signals")?;
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        let guard = runtime.enter();
        let [interrupt, terminate, hangup] = kinds.map(signal);
        drop(guard);
        let caught = "cannot catch signals";
        let (interrupt, terminate) = (interrupt.context(caught)?, terminate.context(caught)?);
        let hangup = hangup.context(caught)?;
        let ours = signals.clone();
        thread::spawn(move || {
            runtime.block_on(async {
                let ends = futures_util::future::join(ours.end(interrupt), ours.end(terminate));
                futures_util::future::join(ends, ours.hang_up(hangup)).await;
            });
        });
        Ok(signals)
    }

    /// Whether files should be read again; asked once for each time.
    pub(in crate::commands) fn take_reload(&self) -> bool {
        self.reload.swap(false, Ordering::Relaxed)
    }

    /// The first asks for an end, the second does not wait for it.
    async fn end(&self, mut signal: Signal) {
        while signal.recv().await.is_some() {
            if self.stop.is_stopped() {
                std::process::exit(i32::from(crate::exit::Exit::Interrupted.code()));
            }
            self.stop.stop();
        }
    }

    async fn hang_up(&self, mut signal: Signal) {
        while signal.recv().await.is_some() {
            self.reload.store(true, Ordering::Relaxed);
        }
    }
}
