//! Whether this machine can run such tests, and how tests say that it cannot (docs/testing.md).

use std::io::Write as _;
use std::sync::OnceLock;

use crate::namespace::{Namespace, Prefix};
use crate::{TestnetError, tools, tun};

/// What `cargo xtask setup` installs: the word in `NEARSIDE_SKIP_FOREIGN`, and the program.
const PROGRAMS: [(&str, &str); 2] = [("ip", "ip"), ("nftables", "nft")];

/// Whether namespaces, TUN devices, veth pairs and NAT work here; the error says what does not.
/// Found out once, by trying each alone: what fails beyond that is a fault and no reason to skip.
pub fn can_run() -> Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(attempt).clone()
}

fn attempt() -> Result<(), String> {
    for (_, program) in PROGRAMS {
        if tools::find(program).is_none() {
            return Err(format!("{program} is missing"));
        }
    }
    try_all().map_err(|error| error.to_string())
}

fn try_all() -> Result<(), TestnetError> {
    let namespace = Namespace::create(format!("{}trial", Prefix::unique().text))?;
    namespace.set("ipv4/ip_forward", "1")?;
    namespace.configure("link add lan type veth peer name other\n")?;
    let _device = tun::open(&namespace, "wan")?;
    namespace.filter(
        "table ip nat {
    chain out {
        type nat hook postrouting priority srcnat
        oifname wan masquerade
    }
}
",
    )
}

/// For the first line of a test: whether to go on. Where the machine does not allow such networks,
/// writes `SKIPPED test: reason`.
///
/// # Panics
/// When a program is missing that `cargo xtask setup` installs, unless `NEARSIDE_SKIP_FOREIGN`
/// excuses it.
pub fn ready(test: &str) -> bool {
    let Err(reason) = can_run() else { return true };
    let excused = std::env::var("NEARSIDE_SKIP_FOREIGN").unwrap_or_default();
    for (word, program) in PROGRAMS {
        let missing = tools::find(program).is_none();
        let known = excused.split(',').any(|name| name == word);
        assert!(
            !missing || known,
            "{program} is missing: run `cargo xtask setup`"
        );
    }
    let line = format!("SKIPPED {test}: {}", reason.replace('\n', " "));
    let _closed = writeln!(std::io::stderr(), "{line}");
    false
}
