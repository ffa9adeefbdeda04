//! A page in a real browser: headless Chromium draws every figure with and without its marks, and
//! the pixels that differ are what a reader sees of the data.

#![allow(dead_code, reason = "every test file takes what it needs")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

/// Debian's name for it, and what others call it.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// No page of ours takes longer, even on a machine that is compiling.
const PATIENCE: Duration = Duration::from_secs(120);

/// Looks at figures from inside the page and leaves what it saw in an element of its own.
const LOOK: &str = include_str!("look.js");

/// What the browser shows of one figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seen {
    /// The anchor of the figure.
    pub(crate) figure: String,
    /// Pixels on the page.
    pub(crate) width: f64,
    /// Pixels on the page.
    pub(crate) height: f64,
    /// How many pixels the data change.
    pub(crate) inked: u64,
    /// The text in title and description.
    pub(crate) words: String,
}

impl Seen {
    /// Whether a reader sees the figure and data in it. A single dot has about eight pixels.
    pub(crate) fn is_shown(&self) -> bool {
        self.width >= 200.0 && self.height >= 100.0 && self.inked >= 4 && !self.words.is_empty()
    }
}

/// Light or dark paper, as the reader's system says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Light,
    Dark,
}

/// A browser, and a folder for what it reads and writes.
pub(crate) struct Chromium {
    program: PathBuf,
    folder: PathBuf,
}

impl Chromium {
    /// `None` if the test may do without, which is said on standard error (docs/testing.md).
    pub(crate) fn find(test: &str, folder: &Path) -> Option<Self> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&folders)
            .flat_map(|folder| PROGRAMS.map(|program| folder.join(program)))
            .find(|path| path.is_file());
        let Some(program) = found else {
            let excused = std::env::var("NEARSIDE_SKIP_FOREIGN").unwrap_or_default();
            let is_excused = excused.split(',').any(|name| name == "chromium");
            assert!(is_excused, "chromium is missing: run `cargo xtask setup`");
            // Not eprintln!: the harness swallows that when the test passes.
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: chromium is missing");
            return None;
        };
        let folder = folder.join(test);
        std::fs::create_dir_all(&folder).unwrap();
        Some(Self { program, folder })
    }

    /// Every figure of the page, in reading order.
    pub(crate) fn look_at(&self, page: &str) -> Vec<Seen> {
        let (before, after) = page.rsplit_once("</body>").expect("a page has a body");
        let watched = format!("{before}<script>{LOOK}</script></body>{after}");
        let file = self.write("watched.html", &watched);
        let dom = self.run(
            Scheme::Light,
            &["--virtual-time-budget=60000", "--dump-dom"],
            &file,
        );
        let (_, found) = dom
            .split_once("<pre id=\"seen\">")
            .expect("the page looked at itself");
        let (found, _) = found.split_once("</pre>").expect("the element has an end");
        serde_json::from_str(&unescaped(found)).unwrap()
    }

    /// A picture of the page's first `height` pixels, for people; the file is a PNG.
    pub(crate) fn photograph(&self, page: &str, scheme: Scheme, height: u32) -> PathBuf {
        let file = self.write("page.html", page);
        let picture = self.folder.join(format!("{scheme:?}.png").to_lowercase());
        let size = format!("--window-size=1400,{height}");
        let target = format!("--screenshot={}", picture.display());
        self.run(scheme, &["--hide-scrollbars", &size, &target], &file);
        picture
    }

    /// What a page on this machine is after its scripts have run for some seconds.
    pub(crate) fn visit(&self, url: &str) -> String {
        let arguments = ["--virtual-time-budget=3000", "--dump-dom"];
        self.open(Scheme::Light, &arguments, url)
    }

    /// A picture of such a page.
    pub(crate) fn photograph_visit(&self, url: &str, scheme: Scheme, height: u32) -> PathBuf {
        let picture = self.folder.join(format!("{scheme:?}.png").to_lowercase());
        let size = format!("--window-size=1400,{height}");
        let target = format!("--screenshot={}", picture.display());
        let time = "--virtual-time-budget=3000";
        self.open(scheme, &["--hide-scrollbars", time, &size, &target], url);
        picture
    }

    /// What the browser remembers: nothing that another run has left.
    fn profile(&self) -> PathBuf {
        self.folder.join(format!("profile-{}", std::process::id()))
    }

    fn write(&self, name: &str, contents: &str) -> PathBuf {
        let file = self.folder.join(name);
        std::fs::write(&file, contents).unwrap();
        file
    }

    fn run(&self, scheme: Scheme, arguments: &[&str], page: &Path) -> String {
        self.open(scheme, arguments, &format!("file://{}", page.display()))
    }

    /// Standard output of a browser that may reach no other machine and is ended when it hangs.
    #[allow(
        clippy::disallowed_methods,
        reason = "a test has a clock, the crate has none"
    )]
    fn open(&self, scheme: Scheme, arguments: &[&str], url: &str) -> String {
        let output = self.folder.join("stdout");
        let mut command = Command::new(&self.program);
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-sync",
            ])
            .args([
                "--disable-component-update",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ])
            .arg(format!("--user-data-dir={}", self.profile().display()))
            .args(arguments)
            .arg(url)
            .stdout(std::fs::File::create(&output).unwrap())
            .stderr(Stdio::null());
        if scheme == Scheme::Dark {
            command.arg("--blink-settings=preferredColorScheme=0");
        }
        let mut browser = command.spawn().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while browser.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                let _ = browser.kill();
                panic!("chromium hung on {url}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        std::fs::read_to_string(output).unwrap()
    }
}

/// Pictures stay, to be looked at.
impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.profile());
    }
}

/// What `--dump-dom` escapes in text.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", "\u{A0}")
        .replace("&amp;", "&")
}
