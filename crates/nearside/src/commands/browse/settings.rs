//! How to probe and how to plan, from the flags.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use nearside_discover::filter::Filters;
use nearside_discover::planner::{
    AdaptiveConfig, ClusterBy, DrawRule, Objective, PlannerConfig, PlannerKind, SampleSize,
    StopRule,
};
use nearside_discover::prober::{Limit, ProberConfig};
use nearside_types::Rtt;

use crate::cli::{BrowseArgs, PlanningArgs, ProbingArgs, ShowingArgs};

/// The paper asks for RTT_stop slightly above what the player prefers.
const STOP_ABOVE_PREFERENCE: f64 = 1.1;

pub(super) fn prober_config(args: &BrowseArgs, seed: u64) -> ProberConfig {
    let probing: &ProbingArgs = &args.probing;
    let mut config = ProberConfig::new(args.sources.game.protocol(), seed);
    config.pace = probing.pace;
    config.timeouts = vec![Duration::from_millis(probing.timeout); usize::from(probing.tries)];
    config.limit = Limit {
        probes: probing.max_probes.map(|most| most as u64),
        time: probing.max_time.map(Duration::from_secs_f64),
    };
    config.wanted = filters(&args.showing);
    config
}

pub(super) fn filters(args: &ShowingArgs) -> Filters {
    Filters {
        not_full: args.not_full,
        not_empty: args.not_empty,
        no_password: args.no_password,
        map: args.map.clone(),
        name: args.name.clone(),
        countries: args.country.clone(),
        asns: args.asn.clone(),
        max_rtt: args.max_rtt.map(Rtt::from_millis_f64),
    }
}

pub(super) fn planner_config(args: &PlanningArgs, max_rtt: Option<f64>) -> Result<PlannerConfig> {
    let mut config = PlannerConfig::published(args.planner);
    match args.planner {
        PlannerKind::Adaptive => {
            refuse_cluster_settings(args)?;
            config.adaptive = adaptive(args)?;
        }
        other if args.objective.is_some() || args.best.is_some() => {
            bail!("--objective and --best are for the adaptive planner, not for {other}")
        }
        _ => {}
    }
    let clusters = &mut config.clusters;
    clusters.sample_size = sample_size(&args.sample_size)?;
    if args.strict_draw {
        clusters.draw = DrawRule::Strict;
    }
    clusters.split_above = Rtt::from_millis_f64(args.split_above);
    clusters.split_prefix.v4 = args.split_prefix;
    if let ClusterBy::CountryAndPrefix { prefix } = &mut clusters.cluster_by {
        prefix.v4 = args.country_prefix;
    }
    let rule = match args.smooth_run {
        Some(run) => StopRule::SmoothRun {
            run,
            spread_ms: args.smooth_spread,
        },
        None => StopRule::Bottom {
            window: args.window,
            bottom: args.bottom / 100.0,
        },
    };
    clusters.stop = Some(rule);
    if args.no_auto_stop {
        config = config.never_stopping();
    }
    config.adaptive.farthest = max_rtt.map(Rtt::from_millis_f64);
    let preferred = max_rtt.map(|max_rtt| max_rtt * STOP_ABOVE_PREFERENCE);
    Ok(match args.stop_rtt.or(preferred) {
        Some(stop_rtt) => config.stopping_at(Rtt::from_millis_f64(stop_rtt)),
        None => config,
    })
}

/// A flag that does nothing misleads: the adaptive planner has no clusters.
fn refuse_cluster_settings(args: &PlanningArgs) -> Result<()> {
    let given = [
        ("--sample-size", args.sample_size != "sqrt"),
        ("--strict-draw", args.strict_draw),
        ("--split-above", args.split_above != 40.0),
        ("--split-prefix", args.split_prefix != 16),
        ("--country-prefix", args.country_prefix != 8),
        ("--window", args.window != 100),
        ("--bottom", args.bottom != 2.0),
        ("--smooth-run", args.smooth_run.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => bail!(
            "{flag} is a setting of the papers' planners: add --planner as or --planner country"
        ),
        None => Ok(()),
    }
}

fn adaptive(args: &PlanningArgs) -> Result<AdaptiveConfig> {
    if let (Some(_), Some(objective @ (Objective::Thorough | Objective::Fast))) =
        (args.best, args.objective)
    {
        bail!("--best looks for the best only: leave out --objective {objective}");
    }
    let usual = match args.best {
        Some(_) => Objective::Best,
        None => Objective::Thorough,
    };
    let mut config = AdaptiveConfig::new().aiming_at(args.objective.unwrap_or(usual));
    config.best = args.best.unwrap_or(config.best);
    Ok(config)
}

fn sample_size(text: &str) -> Result<SampleSize> {
    let rule = match text {
        "sqrt" => Some(SampleSize::SquareRoot),
        "log" => Some(SampleSize::Logarithm),
        _ => text
            .strip_suffix("sqrt")
            .and_then(|factor| factor.parse().ok())
            .filter(|factor: &f64| *factor > 0.0 && factor.is_finite())
            .map(|factor| SampleSize::ScaledSquareRoot { factor })
            .or_else(|| {
                let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
                let share = percent / 100.0;
                (share > 0.0 && share <= 1.0).then_some(SampleSize::Share { share })
            })
            .or_else(|| {
                let samples = text.parse().ok().filter(|&samples| samples > 0)?;
                Some(SampleSize::Fixed { samples })
            }),
    };
    rule.with_context(|| {
        format!("--sample-size {text}: write sqrt, log, 2sqrt, a number, or a share such as 5%")
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn a_limit_on_distance_is_the_planner_s_business() {
        let planner = |flags: &[&str]| {
            let words = ["nearside", "browse", "--best", "10"].iter().chain(flags);
            let Command::Browse(args) = Cli::try_parse_from(words).unwrap().command else {
                panic!("another command");
            };
            planner_config(&args.planning, args.showing.max_rtt).unwrap()
        };
        let limited = planner(&["--max-rtt", "20"]);
        assert_eq!(limited.adaptive.farthest, Some(Rtt::from_micros(20_000)));
        assert_eq!(limited.rtt_stop(), Rtt::from_micros(22_000));
        assert_eq!(planner(&[]).adaptive.farthest, None);
    }

    #[test]
    fn sample_sizes_are_read_in_every_form() {
        for (text, expected) in [
            ("sqrt", SampleSize::SquareRoot),
            ("log", SampleSize::Logarithm),
            ("2sqrt", SampleSize::ScaledSquareRoot { factor: 2.0 }),
            ("0.5sqrt", SampleSize::ScaledSquareRoot { factor: 0.5 }),
            ("5%", SampleSize::Share { share: 0.05 }),
            ("7", SampleSize::Fixed { samples: 7 }),
        ] {
            assert_eq!(sample_size(text).unwrap(), expected, "{text}");
        }
        for bad in ["", "0", "-1sqrt", "infsqrt", "0%", "200%", "many", "1.5"] {
            let error = sample_size(bad).unwrap_err().to_string();
            assert!(error.contains("--sample-size"), "{bad}: {error}");
        }
    }
}
