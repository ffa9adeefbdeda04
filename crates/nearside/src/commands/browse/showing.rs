//! The face of the run, from the flags.

use std::io::Write;
use std::num::NonZeroUsize;

use nearside_types::ServerAddr;

use super::settings::filters;
use crate::cli::ShowingArgs;
use crate::faces::{Face, FaceConfig, Format, Goal, Selection, Terminal};

/// Whether a table is shown: asked for, or the default on a terminal.
pub(super) fn is_table(args: &ShowingArgs) -> bool {
    match args.format {
        Some(format) => format == Format::Table,
        None => Terminal::stdout().is_some(),
    }
}

/// Unless told otherwise, on a terminal as many rows as fit: thousands would scroll the nearest ones,
/// which matter most, out of sight. Who looks for the best wants to see all of them.
fn top(args: &ShowingArgs, best: Option<usize>) -> Option<NonZeroUsize> {
    const HEADING_AND_SUMMARY: usize = 8;
    const LEAST: usize = 10;
    let terminal = Terminal::stdout().filter(|_| is_table(args) && best.is_none());
    let fits = terminal.map(|terminal| {
        let height = terminal.size().height;
        height.saturating_sub(HEADING_AND_SUMMARY).max(LEAST)
    });
    args.top.or_else(|| fits.and_then(NonZeroUsize::new))
}

pub(super) fn face(args: &ShowingArgs, goal: Goal, favourites: &[ServerAddr]) -> Face<'static> {
    let best = goal.only_best.then_some(goal.best);
    let selection = Selection {
        filters: filters(args),
        best,
        sort: args.sort,
        top: top(args, best),
        favourites: favourites.iter().copied().collect(),
    };
    let config = FaceConfig {
        format: args.format,
        selection,
        goal,
        terminal: Terminal::stdout(),
    };
    let notes: Box<dyn Write> = if args.quiet {
        Box::new(std::io::sink())
    } else {
        Box::new(std::io::stderr())
    };
    Face::new(config, std::io::stdout(), notes)
}
