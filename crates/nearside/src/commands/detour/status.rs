//! `nearside detour status`: asks a running program over a socket of the user's, and shows its paths.

use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use nearside_player::Remote;
use serde_json::Value;

use crate::cli::{DetourStatusArgs, Switch};
use crate::exit::Exit;
use crate::faces::is_closed_pipe;

use super::telling;

/// What a program is asked.
const VIEW: &str = "view";
const COMPARE_ON: &str = "compare on";
const COMPARE_OFF: &str = "compare off";

/// Where a running program answers.
#[derive(Debug)]
pub(super) struct Desk {
    path: Option<PathBuf>,
}

impl Desk {
    /// The socket's path, where there is one.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // It may have been removed by somebody else.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The folder of all sockets of this user.
fn folder() -> PathBuf {
    match crate::origins::folder_of("XDG_RUNTIME_DIR", "") {
        Some(runtime) if std::env::var_os("XDG_RUNTIME_DIR").is_some() => runtime.join("nearside"),
        _ => {
            let user = std::env::var("USER").unwrap_or_else(|_| "user".to_owned());
            std::env::temp_dir().join(format!("nearside-{user}"))
        }
    }
}

#[cfg(unix)]
mod socket {
    use std::io::ErrorKind;
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::thread;

    use super::*;

    impl Desk {
        /// Opens the socket and answers on it, on a thread of its own.
        pub(in super::super) fn open(path: Option<&Path>, remote: Remote) -> Result<Self> {
            let path = match path {
                Some(path) => path.to_owned(),
                None => usual()?,
            };
            let listener = listen(&path).with_context(|| {
                format!(
                    "cannot open {} for `status` (is it there already?)",
                    path.display()
                )
            })?;
            thread::Builder::new()
                .name("nearside-status".to_owned())
                .spawn(move || {
                    for stream in listener.incoming().flatten() {
                        // Who asks may go away in the middle.
                        let _ = answer(&stream, &remote);
                    }
                })
                .context("cannot start a thread")?;
            Ok(Self { path: Some(path) })
        }
    }

    /// A socket at a path; one that a program left behind there when it was killed gives way.
    fn listen(path: &Path) -> io::Result<UnixListener> {
        match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && is_left_behind(path) => {
                std::fs::remove_file(path)?;
                UnixListener::bind(path)
            }
            bound => bound,
        }
    }

    /// Whether it is a socket that nobody listens at.
    fn is_left_behind(path: &Path) -> bool {
        let found = std::fs::symlink_metadata(path);
        let is_socket = found.is_ok_and(|found| found.file_type().is_socket());
        let refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
        is_socket && UnixStream::connect(path).is_err_and(refused)
    }

    /// Removes what programs that were killed left behind.
    fn tidy(folder: &Path) {
        let left = sockets(folder).into_iter();
        for path in left.filter(|path| is_left_behind(path)) {
            // Another program may have been quicker.
            let _ = std::fs::remove_file(path);
        }
    }

    fn usual() -> Result<PathBuf> {
        let folder = folder();
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        ensure!(
            is_ours_alone(&folder).unwrap_or(false)
                || folder
                    .parent()
                    .is_some_and(|above| is_ours_alone(above).unwrap_or(false)),
            "{} is not a folder that only you can use (remove it, or give --status SOCKET)",
            folder.display()
        );
        tidy(&folder);
        Ok(folder.join(format!("detour-{}.sock", std::process::id())))
    }

    /// Whether a folder is the user's own and closed to others. In a folder for everybody's temporary
    /// files, somebody else may have made it first, to listen along.
    fn is_ours_alone(folder: &Path) -> io::Result<bool> {
        let found = std::fs::symlink_metadata(folder)?;
        let own = rustix::process::geteuid().as_raw();
        Ok(found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0)
    }

    /// One line in, one line of JSON out.
    fn answer(stream: &UnixStream, remote: &Remote) -> io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let question = line.trim();
        let view = remote.view();
        if question == COMPARE_ON || question == COMPARE_OFF {
            let links = view.iter().flat_map(|view| &view.links);
            for link in links.filter(|link| link.leads) {
                remote.compare(link.link, question == COMPARE_ON);
            }
        }
        let mut stream = stream;
        serde_json::to_writer(&mut stream, &view)?;
        stream.write_all(b"\n")
    }

    pub(super) fn ask(path: &Path, question: &str) -> Result<Value> {
        let stream = UnixStream::connect(path)
            .with_context(|| format!("nobody answers at {}", path.display()))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let mut writer = &stream;
        writeln!(writer, "{question}")?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    #[cfg(test)]
    mod tests {
        use std::os::unix::fs::PermissionsExt;

        use super::*;

        #[test]
        fn a_socket_that_was_left_behind_gives_way_and_nothing_else_does() {
            let name = format!("nearside-left-behind-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir(&folder).unwrap();
            let (path, file) = (folder.join("one.sock"), folder.join("file.sock"));
            std::fs::write(&file, "mine").unwrap();
            drop(listen(&path).unwrap());
            assert!(path.exists(), "as after kill -9");
            let living = listen(&path).unwrap();
            let refused = [&path, &file].map(|path| listen(path).unwrap_err().kind());
            tidy(&folder);
            let kept = [path.exists(), file.exists()];
            drop(living);
            tidy(&folder);
            let left = path.exists();
            std::fs::remove_dir_all(&folder).unwrap();
            assert_eq!(refused, [ErrorKind::AddrInUse; 2]);
            assert_eq!((kept, left), ([true, true], false));
        }

        #[test]
        fn a_folder_that_others_may_enter_is_not_used() {
            let name = format!("nearside-status-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir(&folder).unwrap();
            let verdict = |mode| {
                let permissions = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(&folder, permissions).unwrap();
                is_ours_alone(&folder).unwrap()
            };
            let verdicts = [0o700, 0o755].map(verdict);
            std::fs::remove_dir(&folder).unwrap();
            assert_eq!(verdicts, [true, false]);
        }
    }
}

#[cfg(not(unix))]
mod socket {
    use super::*;

    impl Desk {
        /// There are no such sockets here: the program runs without.
        pub(in super::super) fn open(_: Option<&Path>, _: Remote) -> Result<Self> {
            Ok(Self { path: None })
        }
    }

    pub(super) fn ask(_: &Path, _: &str) -> Result<Value> {
        Err(anyhow!(
            "`status` needs sockets of the file system, which this system does not have"
        ))
    }
}

pub(super) fn run(args: &DetourStatusArgs) -> Result<Exit> {
    let question = match args.compare {
        None => VIEW,
        Some(Switch::On) => COMPARE_ON,
        Some(Switch::Off) => COMPARE_OFF,
    };
    let views = ask(args, question)?;
    show(args, &views, Clear::No)?;
    let is_vain = question == COMPARE_ON && !views.is_empty() && !views.iter().any(has_a_choice);
    if let Some(said) = said_of_comparison(args.compare, &views) {
        writeln!(io::stderr(), "{said}")?;
    }
    match args.watch {
        true => watch(args),
        false if is_vain || views.is_empty() => Ok(Exit::Negative),
        false => Ok(Exit::Done),
    }
}

/// What came of `--compare`: the figures follow later.
fn said_of_comparison(compare: Option<Switch>, views: &[Value]) -> Option<&'static str> {
    match compare? {
        _ if views.is_empty() => None,
        Switch::Off => Some("no comparison any more"),
        Switch::On if views.iter().any(has_a_choice) => Some(
            "the comparison began: while a game is played, packets take the direct path and the detour \
             in turns; look again in half a minute (`nearside detour status`)",
        ),
        Switch::On if views.iter().any(leads_a_link) => Some(
            "no detour is known yet: the comparison begins with the first one that is found (`nearside \
             detour status` shows the paths)",
        ),
        Switch::On => Some(
            "nothing to compare: paths are chosen at the player's side (`nearside detour proxy`), where \
             it has a link; ask there",
        ),
    }
}

/// Whether a program chooses the path of a link: those alone can be compared.
fn leads_a_link(view: &Value) -> bool {
    led_links(view).next().is_some()
}

/// Whether it has two paths to choose from.
fn has_a_choice(view: &Value) -> bool {
    let paths = |link: &Value| link["paths"].as_array().map_or(0, Vec::len);
    led_links(view).any(|link| paths(link) > 1)
}

fn led_links(view: &Value) -> impl Iterator<Item = &Value> {
    let links = view["links"].as_array().into_iter().flatten();
    links.filter(|link| link["leads"] == true)
}

/// Looks again every second, until Ctrl-C or nobody reads.
fn watch(args: &DetourStatusArgs) -> Result<Exit> {
    let clear = match io::stdout().is_terminal() {
        _ if args.json => Clear::No,
        true => Clear::Screen,
        false => Clear::Line,
    };
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let views = ask(args, VIEW)?;
        match show(args, &views, clear) {
            Err(error) if is_closed_pipe(&error) => return Ok(Exit::Done),
            shown => shown?,
        }
    }
}

/// What sets a view apart from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clear {
    No,
    /// An empty line, in a file or pipe.
    Line,
    /// It takes the place of the one before.
    Screen,
}

impl Clear {
    /// Cursor home, and nothing below it (ECMA-48: CUP, ED).
    const fn text(self) -> &'static str {
        match self {
            Self::No => "",
            Self::Line => "\n",
            Self::Screen => "\x1b[H\x1b[J",
        }
    }
}

fn ask(args: &DetourStatusArgs, question: &str) -> Result<Vec<Value>> {
    match &args.socket {
        Some(path) => {
            let view = socket::ask(path, question);
            let view =
                view.map_err(|error| anyhow!(crate::exit::WorldFailure(format!("{error:#}"))))?;
            Ok(vec![view])
        }
        None => Ok(ask_all(question)?),
    }
}

/// Shows all views in one piece, so that a screen does not flicker.
fn show(args: &DetourStatusArgs, views: &[Value], clear: Clear) -> io::Result<()> {
    let mut text = clear.text().to_owned();
    for view in views {
        text += &match args.json {
            true => format!("{view}\n"),
            false => page(view),
        };
    }
    if views.is_empty() && !args.json {
        text += &format!(
            "no program runs that has a socket in {}\nstart one: `nearside detour proxy --help`\n",
            folder().display()
        );
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// What may be sockets in a folder, by name.
fn sockets(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut sockets: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "sock"))
        .collect();
    sockets.sort();
    sockets
}

/// Every program of the user's that answers; one that holds its socket and does not is named. All are
/// asked at once, so that it holds up nobody longer than itself.
fn ask_all(question: &str) -> io::Result<Vec<Value>> {
    let paths = sockets(&folder());
    let answers: Vec<Option<Result<Value>>> = thread::scope(|scope| {
        let ask = |path| move || socket::ask(path, question);
        let asked: Vec<_> = paths.iter().map(|path| scope.spawn(ask(path))).collect();
        asked.into_iter().map(|one| one.join().ok()).collect()
    });
    let mut views = Vec::new();
    for (path, answer) in paths.iter().zip(answers) {
        match answer {
            Some(Ok(view)) => views.push(view),
            Some(Err(error)) if is_late(&error) => {
                let path = path.display();
                writeln!(io::stderr(), "the program at {path} does not answer")?;
            }
            // What a program left behind that was killed.
            _ => {}
        }
    }
    Ok(views)
}

/// Whether somebody was there who said nothing in time.
fn is_late(error: &anyhow::Error) -> bool {
    let io = error.root_cause().downcast_ref::<io::Error>();
    let kind = io.map(io::Error::kind);
    matches!(
        kind,
        Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    )
}

/// A view in sentences and a small table.
fn page(view: &Value) -> String {
    let mut page = String::new();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let joined = match view["joined"].as_bool() {
        Some(true) => "joined",
        _ => "not joined",
    };
    page += &format!(
        "{joined} at {}, seen at {}{}, {} neighbours{}\n",
        text(&view["directory"]),
        text(&view["observed"]),
        view["observed_other"]
            .as_str()
            .map_or_else(String::new, |other| format!(" and {other}")),
        view["neighbours"],
        if view["symmetric_nat"] == true {
            ", symmetric NAT"
        } else {
            ""
        },
    );
    if let Some(games) = view["games"].as_object() {
        let plainly = match games["goes_plainly"] == true {
            true => "; no link to a peer there, so new games go plainly",
            false => "",
        };
        page += &format!(
            "games reach {}: {} flows sealed, {} plain, {} not answered yet{plainly}\n",
            text(&games["game"]),
            games["sealed"],
            games["plain"],
            games["waiting"],
        );
    }
    if let Some(relay) = view["relay"].as_object() {
        page += &format!(
            "relays {} sessions; {} packets carried, {} refused as strangers'{}\n",
            relay["sessions"],
            relay["counts"]["forwarded"],
            relay["counts"]["strangers"],
            if relay["overloaded"] == true {
                "; overloaded"
            } else {
                ""
            },
        );
    }
    for link in view["links"].as_array().into_iter().flatten() {
        page += &link_page(link);
    }
    page
}

fn link_page(link: &Value) -> String {
    let peer = link["peer"].as_str().unwrap_or("-");
    let mut page = format!(
        "\n{} {}…: {} packets sent, {} delivered{}\n",
        if link["leads"] == true { "to" } else { "from" },
        peer.get(..16).unwrap_or(peer),
        link["counts"]["sent"],
        link["counts"]["delivered"],
        if link["through_relay"] == true {
            "; there is no direct path"
        } else {
            ""
        },
    );
    for path in link["paths"].as_array().into_iter().flatten() {
        let route = serde_json::from_value(path["route"].clone());
        let way = route.map_or_else(|_| "?".to_owned(), telling::way);
        let rtt = path["rtt_us"]
            .as_f64()
            .map_or("not measured".to_owned(), |micros| {
                format!("{:.1} ms", micros / 1_000.0)
            });
        let loss = path["loss"].as_f64().map_or(String::new(), |share| {
            format!(", {:.1} % lost", share * 100.0)
        });
        let jitter = path["jitter_us"].as_f64().map_or(String::new(), |micros| {
            format!(", jitter {:.1} ms", micros / 1_000.0)
        });
        let relay = path["relay_us"].as_f64().map_or(String::new(), |micros| {
            format!(", {:.1} ms in the relay", micros / 1_000.0)
        });
        let mark = if path["active"] == true { "*" } else { " " };
        page += &format!("  {mark} {way:<40} {rtt}{jitter}{loss}{relay}\n");
    }
    if let Some(gain) = link["gain_us"].as_f64().filter(|_| link["leads"] == true) {
        page += &format!(
            "  the path in use saves {:.1} ms over the direct one\n",
            gain / 1_000.0
        );
    }
    if let Some(before) = link["before_us"].as_f64() {
        page += &format!("  before any relay was tried: {:.1} ms\n", before / 1_000.0);
    }
    for switch in link["switches"].as_array().into_iter().flatten().take(5) {
        page += &switch_line(switch);
    }
    if let Some(comparison) = link["comparison"].as_object() {
        page += &comparison_page(&Value::Object(comparison.clone()));
    }
    page
}

fn switch_line(switch: &Value) -> String {
    let to = serde_json::from_value(switch["to"].clone());
    let way = to.map_or_else(|_| "?".to_owned(), telling::way);
    let reason = serde_json::from_value(switch["reason"].clone());
    let why = reason.map_or("?", telling::why);
    let ago = switch["ago_s"].as_f64().unwrap_or(0.0);
    format!("  {ago:.0} s ago {way}: {why}\n")
}

fn comparison_page(comparison: &Value) -> String {
    let arm = |name: &str| {
        let arm = &comparison[name];
        let median = arm["median_ms"].as_f64();
        let median = median.map_or("-".to_owned(), |ms| format!("{ms:.1} ms"));
        format!(
            "{name} {median} ({} round trips, {} lost)",
            arm["samples"], arm["lost"]
        )
    };
    let gain = comparison["gain_ms"].as_f64();
    let within = comparison["within_ms"].as_f64();
    let difference = gain.zip(within).map_or(String::new(), |(gain, within)| {
        format!(" by {:.1} ms, give or take {within:.1}", gain.abs())
    });
    let verdict = match comparison["verdict"].as_str() {
        Some("detour_is_quicker") => format!("the detour is quicker{difference}; ended"),
        Some("direct_is_quicker") => format!("the direct path is quicker{difference}; ended"),
        Some("undecided") => "chance may explain the difference; ended".to_owned(),
        _ => "not decided yet".to_owned(),
    };
    let pairs = &comparison["pairs"];
    format!(
        "  on live traffic, {pairs} turns each: {}, {}: {verdict}\n",
        arm("direct"),
        arm("detour")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_by_a_relay_shows_what_the_relay_takes_of_it() {
        let link = json!({
            "leads": true,
            "paths": [
                { "route": { "via": "18446744073709551615" }, "active": true, "rtt_us": 45_000,
                  "jitter_us": 300, "relay_us": 240 },
                { "route": "direct", "rtt_us": 90_000, "relay_us": null },
            ],
        });
        let page = link_page(&link);
        let shown = "by way of client 18446744073709551615";
        assert!(page.contains(shown), "{page}");
        assert!(
            page.contains("45.0 ms, jitter 0.3 ms, 0.2 ms in the relay\n"),
            "{page}"
        );
        assert!(page.contains("90.0 ms\n"), "{page}");
    }

    #[test]
    fn a_comparison_says_what_follows_from_it() {
        let comparison = |verdict: &str| {
            comparison_page(&json!({
                "direct": { "samples": 300, "lost": 0, "median_ms": 90.0 },
                "detour": { "samples": 301, "lost": 1, "median_ms": 60.2 },
                "pairs": 5, "gain_ms": 29.8, "within_ms": 2.0, "verdict": verdict,
            }))
        };
        let proven = comparison("detour_is_quicker");
        let shown = "the detour is quicker by 29.8 ms, give or take 2.0; ended";
        assert!(proven.contains(shown), "{proven}");
        assert!(proven.contains("5 turns each: direct 90.0 ms (300 round trips, 0 lost)"));
        assert!(comparison("measuring").contains("not decided yet"));
        assert!(comparison("undecided").contains("chance may explain"));
    }

    #[test]
    fn only_who_chooses_a_path_can_compare() {
        let view = |leads| json!({ "links": [{ "leads": leads, "paths": [{}, {}] }] });
        assert!(leads_a_link(&view(true)));
        assert!(!leads_a_link(&view(false)));
        assert!(!leads_a_link(&json!({ "links": [] })));
        let said = |compare, leads| said_of_comparison(Some(compare), &[view(leads)]);
        assert!(said(Switch::On, true).unwrap().contains("began"));
        assert!(said(Switch::On, false).unwrap().contains("nothing"));
        assert!(said(Switch::Off, true).unwrap().contains("no comparison"));
        assert_eq!(said_of_comparison(None, &[view(true)]), None);
        let alone = json!({ "links": [{ "leads": true, "paths": [{}] }] });
        assert!(leads_a_link(&alone) && !has_a_choice(&alone));
        let said = said_of_comparison(Some(Switch::On), &[alone]).unwrap();
        assert!(said.contains("no detour is known yet"), "{said}");
    }
}
