//! `nearside query`: one server in full.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Result;
use nearside_discover::inspect::{Findings, InspectConfig, Quality};
use nearside_net::{MonotonicClock, inspect};
use nearside_types::Rtt;
use nearside_wire::GameText;
use nearside_wire::quake3::InfoString;
use serde::Serialize;

use super::{seed, stop_on_interrupt};
use crate::cli::QueryArgs;
use crate::exit::Exit;

/// Runs the command.
pub fn run(args: &QueryArgs) -> Result<Exit> {
    let stop = stop_on_interrupt()?;
    let clock = MonotonicClock::start();
    let config = config(args)?;
    let show_progress = args.quality && !args.json && std::io::stderr().is_terminal();
    let findings = inspect(args.server.socket(), config, &clock, &stop, |findings| {
        if show_progress {
            let done = findings.quality.iter().flatten().count();
            let _ = write!(std::io::stderr(), "\rquality test: {done} answers \x1b[K");
        }
    })?;
    if show_progress {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let report = Report::new(args, &findings);
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
    } else {
        out.write_all(report.to_text().as_bytes())?;
    }
    Ok(match (stop.is_stopped(), findings.is_alive()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Negative,
    })
}

fn config(args: &QueryArgs) -> Result<InspectConfig> {
    let mut config = InspectConfig::new(args.game.protocol(), seed(args.seed)?);
    if args.quality {
        config.quality_probes = usize::from(args.probes);
        config.quality_gap = Duration::from_millis(args.gap);
    }
    Ok(config)
}

/// What is printed; the JSON form is documented in `docs/query.md`.
#[derive(Debug, Serialize)]
struct Report {
    addr: String,
    answered: bool,
    rtt_ms: Option<f64>,
    info: Vec<(String, String)>,
    players: Option<Vec<PlayerLine>>,
    /// Whether the server's player list was cut short.
    players_partial: bool,
    rules: Option<Vec<(String, String)>>,
    rules_partial: bool,
    quality: Option<QualityLine>,
}

#[derive(Debug, Serialize)]
struct PlayerLine {
    name: String,
    score: i32,
    /// Seconds connected (A2S).
    connected_s: Option<u64>,
    /// Ping in milliseconds (Quake 3).
    ping_ms: Option<i32>,
}

#[derive(Debug, Serialize)]
struct QualityLine {
    sent: usize,
    lost: usize,
    loss_percent: f64,
    jitter_ms: Option<f64>,
    min_ms: Option<f64>,
    p50_ms: Option<f64>,
    p90_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
}

impl Report {
    fn new(args: &QueryArgs, findings: &Findings) -> Self {
        Self {
            addr: args.server.to_string(),
            answered: findings.is_alive(),
            rtt_ms: findings.best_rtt().map(Rtt::as_millis_f64),
            info: info_lines(findings),
            players: player_lines(findings),
            players_partial: findings.players.as_ref().is_some_and(|list| list.partial),
            rules: rule_lines(findings),
            rules_partial: findings.rules.as_ref().is_some_and(|list| list.partial),
            quality: args.quality.then(|| quality_line(findings.quality())),
        }
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |words: String| {
            text.push_str(&words);
            text.push('\n');
        };
        match self.rtt_ms {
            Some(rtt) => line(format!("{}  {rtt:.1} ms", self.addr)),
            None if self.answered => line(format!("{}  answered, not measured", self.addr)),
            None => line(format!("{}  no answer", self.addr)),
        }
        for (key, value) in &self.info {
            line(format!("  {key:<12} {value}"));
        }
        if let Some(players) = &self.players {
            let cut = if self.players_partial {
                " (list cut short by the server)"
            } else {
                ""
            };
            line(format!("players: {}{cut}", players.len()));
            for player in players {
                line(format!("  {}", player.to_text()));
            }
        }
        if let Some(rules) = &self.rules {
            let cut = if self.rules_partial {
                " (list cut short by the server)"
            } else {
                ""
            };
            line(format!("rules: {}{cut}", rules.len()));
            for (name, value) in rules {
                line(format!("  {name} = {value}"));
            }
        }
        if let Some(quality) = &self.quality {
            line(quality.to_text());
        }
        text
    }
}

impl PlayerLine {
    fn to_text(&self) -> String {
        let tail = match (self.connected_s, self.ping_ms) {
            (Some(seconds), _) => format!("{}:{:02} h", seconds / 3600, seconds / 60 % 60),
            (None, Some(ping)) => format!("{ping} ms"),
            (None, None) => String::new(),
        };
        format!("{:>6}  {tail:>9}  {}", self.score, self.name)
    }
}

impl QualityLine {
    fn to_text(&self) -> String {
        let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}"));
        format!(
            "quality: {} probes, {} lost ({:.0} %), jitter {} ms, rtt {} / {} / {} / {} / {} ms (min, p50, p90, p99, max)",
            self.sent,
            self.lost,
            self.loss_percent,
            ms(self.jitter_ms),
            ms(self.min_ms),
            ms(self.p50_ms),
            ms(self.p90_ms),
            ms(self.p99_ms),
            ms(self.max_ms),
        )
    }
}

fn quality_line(quality: Quality) -> QualityLine {
    let at = |index: usize| quality.rtt_ms.map(|values| values[index]);
    QualityLine {
        sent: quality.sent,
        lost: quality.lost,
        loss_percent: 100.0 * quality.lost as f64 / quality.sent.max(1) as f64,
        jitter_ms: quality.jitter_ms,
        min_ms: at(0),
        p50_ms: at(1),
        p90_ms: at(2),
        p99_ms: at(3),
        max_ms: at(4),
    }
}

fn info_lines(findings: &Findings) -> Vec<(String, String)> {
    if let Some(info) = &findings.a2s {
        let counts = info.counts();
        let mut lines = vec![
            ("name".to_owned(), info.name.plain()),
            ("map".to_owned(), info.map.plain()),
            ("game".to_owned(), info.game.plain()),
            ("folder".to_owned(), info.folder.plain()),
            (
                "players".to_owned(),
                format!(
                    "{}/{} ({} bots)",
                    counts.players, counts.max_players, info.bots
                ),
            ),
            (
                "password".to_owned(),
                if info.password { "yes" } else { "no" }.to_owned(),
            ),
            (
                "secure".to_owned(),
                if info.vac { "yes" } else { "no" }.to_owned(),
            ),
        ];
        if let Some(app) = info.true_app_id() {
            lines.push(("app id".to_owned(), app.to_string()));
        }
        return lines;
    }
    let pairs = findings
        .quake3
        .as_ref()
        .map(InfoString::pairs)
        .unwrap_or_default();
    pairs
        .iter()
        .filter(|(key, _)| key.as_bytes() != b"challenge")
        .map(|(key, value)| (key.to_safe_string(), value.plain()))
        .collect()
}

fn player_lines(findings: &Findings) -> Option<Vec<PlayerLine>> {
    let name = |text: &GameText| text.plain();
    let a2s = findings.players.as_ref().map(|list| {
        let line = |player: &nearside_wire::a2s::Player| PlayerLine {
            name: name(&player.name),
            score: player.score,
            connected_s: player.connected.duration().map(|time| time.as_secs()),
            ping_ms: None,
        };
        list.players.iter().map(line).collect()
    });
    a2s.or_else(|| {
        let players = findings.status_players.as_ref()?;
        let line = |player: &nearside_wire::quake3::StatusPlayer| PlayerLine {
            name: name(&player.name),
            score: player.score,
            connected_s: None,
            ping_ms: Some(player.ping_ms),
        };
        Some(players.iter().map(line).collect())
    })
}

fn rule_lines(findings: &Findings) -> Option<Vec<(String, String)>> {
    let rules = findings.rules.as_ref()?;
    let line =
        |rule: &nearside_wire::a2s::Rule| (rule.name.to_safe_string(), rule.value.to_safe_string());
    Some(rules.rules.iter().map(line).collect())
}
