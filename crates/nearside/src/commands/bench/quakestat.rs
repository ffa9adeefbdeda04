//! qstat, under the name Debian gives it: its flags and its raw output.

use std::process::{Command, Stdio};

use nearside_types::Rtt;

use super::child::CommandLine;
use super::lab::LIST;
use super::programs::Finding;
use crate::exit::WorldFailure;

const NAME: &str = "quakestat";

/// What helps it most. It sends one packet each time it wakes and sleeps up to 10 ms otherwise
/// (seen with strace, qstat 2.17), so neither more servers at a time nor anything else goes further.
pub(super) const BEST_TUNING: &str = "-maxsim 1000 -sendinterval 0";

/// Its command line. `-nocfg` must come first; it keeps the machine's own settings out.
pub(super) fn command(tuning: &str) -> CommandLine {
    let args = format!("-nocfg {tuning} -raw , -f {LIST}");
    CommandLine::new(NAME.into(), NAME, &args)
}

/// An error that says where to get it, unless it is there.
pub(super) fn check_installed() -> Result<(), WorldFailure> {
    let silent = || Stdio::null();
    let started = Command::new(NAME)
        .arg("-v")
        .stdin(silent())
        .stdout(silent())
        .stderr(silent())
        .status();
    match started {
        Ok(_) => Ok(()),
        Err(error) => Err(WorldFailure(format!(
            "cannot run {NAME}: {error} (Debian and Ubuntu have it in the package qstat; \
             --alone measures nearside without it)"
        ))),
    }
}

/// The servers that answered, from its raw output.
pub(super) fn read(output: &[u8]) -> Vec<Finding> {
    let text = String::from_utf8_lossy(output);
    text.lines().filter_map(finding).collect()
}

/// `type,address,name,map,max,players,ping,retries`; a server that is down has no numbers at its
/// end. Names may contain the delimiter, so fields are counted from both ends.
fn finding(line: &str) -> Option<Finding> {
    let server = line.split(',').nth(1)?;
    let mut from_the_end = line.rsplit(',');
    let retries = from_the_end.next()?.parse().ok()?;
    let ping_ms: u32 = from_the_end.next()?.parse().ok()?;
    Some(Finding {
        server: server.parse().ok()?,
        rtt: Rtt::from_micros(ping_ms.checked_mul(1000)?),
        retries: Some(retries),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_and_retries_are_read_and_servers_that_are_down_are_not() {
        let output = "A2S,127.1.0.1:28100,Northern Hornets #3 | pro,de_nuke,12,12,44,0\n\n\
                      A2S,127.1.0.2:28100,DOWN\n\nA2S,127.1.0.3:28100,TIMEOUT\n\n\
                      A2S,127.1.0.4:28100,one, two, three,cs_italy,20,20,580,1\n";
        let found = read(output.as_bytes());
        let finding = |server: &str, ping_ms: u32, retries| Finding {
            server: server.parse().unwrap(),
            rtt: Rtt::from_micros(ping_ms * 1000),
            retries: Some(retries),
        };
        assert_eq!(
            found,
            [
                finding("127.1.0.1:28100", 44, 0),
                finding("127.1.0.4:28100", 580, 1)
            ]
        );
    }

    #[test]
    fn the_commands_are_those_of_its_manual() {
        assert_eq!(
            command("").to_string(),
            "quakestat -nocfg -raw , -f list.txt"
        );
        assert_eq!(
            command(BEST_TUNING).to_string(),
            "quakestat -nocfg -maxsim 1000 -sendinterval 0 -raw , -f list.txt"
        );
    }
}
