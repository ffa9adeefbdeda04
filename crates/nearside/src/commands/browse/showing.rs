//! The face of the run, from the flags.

use std::io::Write;
use std::num::NonZeroUsize;

use nearside_types::{Rtt, ServerAddr};

use crate::cli::ShowingArgs;
use crate::faces::{Face, FaceConfig, Filters, Format, Selection, Terminal};

/// Whether a table is shown: asked for, or the default on a terminal.
pub(super) fn is_table(args: &ShowingArgs) -> bool {
    match args.format {
        Some(format) => format == Format::Table,
        None => Terminal::stdout().is_some(),
    }
}

/// On a terminal, unless told otherwise, as many rows as fit: thousands would scroll the nearest
/// ones, which matter most, out of sight.
fn top(args: &ShowingArgs) -> Option<NonZeroUsize> {
    const HEADING_AND_SUMMARY: usize = 8;
    const LEAST: usize = 10;
    let terminal = Terminal::stdout().filter(|_| is_table(args));
    let fits = terminal.map(|terminal| {
        let height = terminal.size().height;
        height.saturating_sub(HEADING_AND_SUMMARY).max(LEAST)
    });
    args.top.or_else(|| fits.and_then(NonZeroUsize::new))
}

pub(super) fn face(args: &ShowingArgs, favourites: &[ServerAddr], stop_rtt: Rtt) -> Face<'static> {
    let selection = Selection {
        filters: Filters {
            not_full: args.not_full,
            not_empty: args.not_empty,
            no_password: args.no_password,
            map: args.map.clone(),
            name: args.name.clone(),
            countries: args.country.clone(),
            asns: args.asn.clone(),
            max_rtt: args.max_rtt.map(Rtt::from_millis_f64),
        },
        sort: args.sort,
        top: top(args),
        favourites: favourites.iter().copied().collect(),
    };
    let config = FaceConfig {
        format: args.format,
        selection,
        stop_rtt,
        terminal: Terminal::stdout(),
    };
    let notes: Box<dyn Write> = if args.quiet {
        Box::new(std::io::sink())
    } else {
        Box::new(std::io::stderr())
    };
    Face::new(config, std::io::stdout(), notes)
}
