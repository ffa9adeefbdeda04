//! What the lab logged, and how far from it a program's pings are.

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use nearside_types::{Rtt, quantile};
use serde::{Deserialize, Serialize};

use super::programs::{Finding, Reports};

/// The replies of a lab to one program.
#[derive(Debug, Default)]
pub(super) struct Truth {
    replies: HashMap<SocketAddr, Vec<Reply>>,
    /// The client port that got most replies: the first try's, for a program with one port a try.
    first_port: Option<u16>,
    lateness_ms: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Reply {
    client_port: u16,
    delay: Rtt,
}

/// A line of the log (`nearside lab --truth`), as far as it matters here.
#[derive(Debug, Deserialize)]
struct Line {
    server: SocketAddr,
    client: SocketAddr,
    intended_us: u32,
    actual_us: u32,
}

impl Truth {
    pub(super) fn read(log: impl Read) -> Result<Self> {
        let mut truth = Self::default();
        let mut by_port: HashMap<u16, usize> = HashMap::new();
        for line in csv::Reader::from_reader(log).deserialize() {
            let line: Line = line.context("the lab's truth log")?;
            *by_port.entry(line.client.port()).or_default() += 1;
            truth.add(&line);
        }
        truth.first_port = by_port
            .into_iter()
            .max_by_key(|&(port, replies)| (replies, port))
            .map(|(port, _)| port);
        Ok(truth)
    }

    fn add(&mut self, line: &Line) {
        let late_us = line.actual_us.saturating_sub(line.intended_us);
        self.lateness_ms
            .push(Rtt::from_micros(late_us).as_millis_f64());
        self.replies.entry(line.server).or_default().push(Reply {
            client_port: line.client.port(),
            delay: Rtt::from_micros(line.actual_us),
        });
    }

    /// How late the lab's replies were. It is no error of anybody's ping, since the truth includes it.
    pub(super) fn lateness(&self) -> Option<Spread> {
        Spread::of(self.lateness_ms.clone())
    }

    fn error_ms(&self, reports: Reports, finding: &Finding) -> Option<f64> {
        let replies = self.replies.get(&finding.server)?.iter();
        let reported = finding.rtt.as_millis_f64();
        let error = |reply: &Reply| (reported - reply.delay.as_millis_f64()).abs();
        match reports {
            Reports::Lowest => replies.min_by_key(|reply| reply.delay).map(error),
            Reports::SomeReply => replies.map(error).min_by(f64::total_cmp),
        }
    }

    /// Whether it took more than one try: by the program's word, else by the port of the reply.
    fn was_retried(&self, finding: &Finding) -> bool {
        let elsewhere = |reply: &Reply| Some(reply.client_port) != self.first_port;
        let by_port = || {
            let replies = self.replies.get(&finding.server);
            replies.is_some_and(|replies| replies.iter().any(elsewhere))
        };
        finding.retries.map_or_else(by_port, |retries| retries > 0)
    }
}

/// How far a program's pings are from the truth.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Errors {
    pub(super) all: Option<Spread>,
    /// Of the servers that took more than one try.
    pub(super) retried: Option<Spread>,
}

/// Judges every finding; one that the lab knows nothing of is a failure of the bench.
pub(super) fn errors(reports: Reports, findings: &[Finding], truth: &Truth) -> Result<Errors> {
    let mut all = Vec::with_capacity(findings.len());
    let mut retried = Vec::new();
    for finding in findings {
        let error = truth
            .error_ms(reports, finding)
            .with_context(|| format!("{} was found, but never replied", finding.server))?;
        all.push(error);
        if truth.was_retried(finding) {
            retried.push(error);
        }
    }
    Ok(Errors {
        all: Spread::of(all),
        retried: Spread::of(retried),
    })
}

/// Quantiles of times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) samples: usize,
    pub(super) p50_ms: f64,
    pub(super) p90_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) max_ms: f64,
}

impl Spread {
    fn of(mut values_ms: Vec<f64>) -> Option<Self> {
        values_ms.sort_by(f64::total_cmp);
        Some(Self {
            samples: values_ms.len(),
            p50_ms: quantile(&values_ms, 0.5)?,
            p90_ms: quantile(&values_ms, 0.9)?,
            p99_ms: quantile(&values_ms, 0.99)?,
            max_ms: quantile(&values_ms, 1.0)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three servers: one that answered at once, one with a challenge leg, one on the second try.
    const LOG: &str = "\
at_s,server,client,kind,intended_us,actual_us
1.0,127.1.0.1:9000,127.0.0.1:4000,49,50000,50100
1.1,127.1.0.2:9000,127.0.0.1:4000,41,80000,80900
1.2,127.1.0.2:9000,127.0.0.1:4000,49,80000,80300
2.5,127.1.0.3:9000,127.0.0.1:4001,49,20000,20000
";

    fn finding(host: u8, micros: u32, retries: Option<u32>) -> Finding {
        Finding {
            server: format!("127.1.0.{host}:9000").parse().unwrap(),
            rtt: Rtt::from_micros(micros),
            retries,
        }
    }

    fn judged(reports: Reports, findings: &[Finding]) -> Errors {
        let truth = Truth::read(LOG.as_bytes()).unwrap();
        errors(reports, findings, &truth).unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_lowest_leg_is_held_against_the_lowest_reply() {
        let errors = judged(Reports::Lowest, &[finding(2, 80_900, None)]);
        assert!(close(errors.all.unwrap().max_ms, 0.6));
    }

    #[test]
    fn where_the_leg_is_unknown_the_nearest_reply_counts() {
        let errors = judged(Reports::SomeReply, &[finding(2, 81_000, Some(0))]);
        assert!(close(errors.all.unwrap().max_ms, 0.1));
    }

    #[test]
    fn a_retry_shows_in_the_port_or_in_the_programs_own_count() {
        let by_port = [finding(1, 50_000, None), finding(3, 21_500, None)];
        let retried = judged(Reports::Lowest, &by_port).retried.unwrap();
        assert_eq!(retried.samples, 1);
        assert!(close(retried.max_ms, 1.5));

        let by_count = [finding(1, 550_000, Some(1)), finding(3, 20_000, Some(0))];
        let retried = judged(Reports::SomeReply, &by_count).retried.unwrap();
        assert!(close(retried.p50_ms, 499.9));
    }

    #[test]
    fn lateness_is_what_the_lab_added() {
        let late = Truth::read(LOG.as_bytes()).unwrap().lateness().unwrap();
        assert_eq!(late.samples, 4);
        assert!(close(late.max_ms, 0.9));
    }

    #[test]
    fn a_server_the_lab_does_not_know_is_a_failure() {
        let truth = Truth::read(LOG.as_bytes()).unwrap();
        let error = errors(Reports::Lowest, &[finding(9, 1, None)], &truth).unwrap_err();
        assert!(error.to_string().contains("127.1.0.9:9000"), "{error}");
    }

    #[test]
    fn a_broken_log_is_refused() {
        let error = Truth::read("server,client\nx,y\n".as_bytes()).unwrap_err();
        assert!(format!("{error:#}").contains("truth log"), "{error:#}");
    }
}
