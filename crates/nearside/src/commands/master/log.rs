//! The log: a time, a word, then `key=value`, one line for each thing that happens.
//!
//! Whoever logs never waits. Lines go through a queue to a thread of their own, and when that is
//! stuck, because nobody reads standard error, they are counted instead. Of lines that are alike only
//! some are written in a second, with a word on how many more there were: a flood of refusals must
//! neither slow the engine nor fill a disk.

mod alike;
mod words;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use nearside_master::LogStatus;
use nearside_registry::Event;

use self::alike::Alike;
pub(super) use self::words::one_line;

/// Writes lines, from any thread.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Log {
    lines: SyncSender<Entry>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
enum Entry {
    Line(String),
    /// The last; whoever waits for it is told.
    End(SyncSender<()>),
}

#[derive(Debug, Default)]
struct Shared {
    alike: Mutex<Alike>,
    written: AtomicU64,
    dropped: AtomicU64,
}

/// Lines that wait to be written: what comes in a second at most, and a little more.
const QUEUE: usize = 1024;

/// How often those that were only counted are told.
const SUMMARY: Duration = Duration::from_secs(1);

impl Log {
    /// A log to standard error. It does not share the lock of [`io::stderr`], which a writer that is
    /// stuck would hold.
    pub(in crate::commands) fn to_stderr() -> Result<Self> {
        let stderr = io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.context("standard error cannot be used")?;
        Ok(Self::to(File::from(stderr)))
    }

    fn to(writer: impl Write + Send + 'static) -> Self {
        let (lines, queue) = sync_channel(QUEUE);
        let shared = Arc::new(Shared::default());
        let ours = Arc::clone(&shared);
        thread::spawn(move || write_lines(writer, &queue, &ours));
        Self { lines, shared }
    }

    /// An event of the engine. Renewals are not worth a line.
    pub(super) fn event(&self, event: &Event) {
        if let Some(kind) = words::kind(event) {
            self.say_some(kind, || words::of(event));
        }
    }

    /// A line of which there may be many; of those that are alike, only some are written.
    pub(in crate::commands) fn say_some(&self, kind: &'static str, words: impl FnOnce() -> String) {
        if self.shared.alike().may_write(kind, Instant::now()) {
            self.say(&words());
        }
    }

    /// A line of another kind.
    pub(in crate::commands) fn say(&self, words: &str) {
        let line = format!("{} {}", words::time(SystemTime::now()), one_line(words));
        if self.lines.try_send(Entry::Line(line)).is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What became of all lines so far.
    pub(super) fn status(&self) -> LogStatus {
        LogStatus {
            written: self.shared.written.load(Ordering::Relaxed),
            alike: self.shared.alike().total(),
            dropped: self.shared.dropped.load(Ordering::Relaxed),
        }
    }

    /// Waits until all lines are written, but not for ever: perhaps nobody reads.
    pub(in crate::commands) fn finish(&self, most: Duration) {
        let deadline = Instant::now() + most;
        let (ended, end) = sync_channel(1);
        let mut last = Entry::End(ended);
        while let Err(TrySendError::Full(entry)) = self.lines.try_send(last) {
            last = entry;
            if Instant::now() >= deadline {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _stuck = end.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

impl Shared {
    fn alike(&self) -> MutexGuard<'_, Alike> {
        self.alike.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody may read any more; serving goes on.
    fn write(&self, writer: &mut impl Write, line: &str) {
        let counter = match writer.write_all(format!("{line}\n").as_bytes()) {
            Ok(()) => &self.written,
            Err(_) => &self.dropped,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn write_summaries(&self, writer: &mut impl Write) {
        let more = self.alike().take();
        let time = words::time(SystemTime::now());
        for (kind, count) in more {
            self.write(
                writer,
                &format!("{time} more like=\"{kind}\" count={count}"),
            );
        }
    }
}

fn write_lines(mut writer: impl Write, queue: &Receiver<Entry>, shared: &Shared) {
    let mut next = Instant::now() + SUMMARY;
    loop {
        match queue.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(Entry::Line(line)) => shared.write(&mut writer, &line),
            Ok(Entry::End(ended)) => {
                shared.write_summaries(&mut writer);
                let _gone = ended.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if Instant::now() >= next {
            shared.write_summaries(&mut writer);
            next = Instant::now() + SUMMARY;
        }
    }
}

#[cfg(test)]
mod tests {
    use nearside_registry::Refusal;
    use nearside_types::ServerAddr;

    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Paper {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn refused(number: u16) -> Event {
        Event::Refused {
            addr: ServerAddr::new([192, 0, 2, 1].into(), number + 1).unwrap(),
            refusal: Refusal::WrongChallenge,
        }
    }

    #[test]
    fn a_flood_of_one_kind_is_counted_and_other_kinds_are_written() {
        let paper = Paper::default();
        let log = Log::to(paper.clone());
        (0..10_000).for_each(|number| log.event(&refused(number)));
        log.say("something else");
        log.finish(Duration::from_secs(20));
        let text = paper.text();
        let lines = text.lines().filter(|line| line.contains("refused addr="));
        let lines = lines.count();
        assert!(lines < 1000, "{lines} lines");
        assert!(text.contains("something else"), "{text}");
        let status = log.status();
        assert_eq!(status.alike + lines as u64, 10_000);
        assert_eq!(status.dropped, 0);
        let more = text.lines().filter_map(|line| line.split_once("count="));
        let more: u64 = more.map(|(_, count)| count.parse::<u64>().unwrap()).sum();
        assert_eq!(more, status.alike, "{text}");
    }

    #[test]
    fn a_log_that_nobody_reads_holds_nobody_up() {
        let (_unread, pipe) = std::io::pipe().unwrap();
        let log = Log::to(pipe);
        let began = Instant::now();
        (0..10_000).for_each(|number| log.say(&format!("line {number} {}", "x".repeat(200))));
        assert!(log.status().dropped > 5_000, "{:?}", log.status());
        log.finish(Duration::from_millis(200));
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
