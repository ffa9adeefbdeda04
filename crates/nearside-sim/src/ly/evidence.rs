//! On the network that the numbers of our way were chosen on, what it shows is fitted: every report is
//! marked in one place, by the names that its columns, rows and layers have.

use std::sync::Arc;

use nearside_report::{Cell, Evidence, Figure, Part, Plot, Table};

use super::coordinates;
use super::laboratory::Laboratory;
use super::ranking;
use super::settings::Way;
use crate::batch::{Progress, Unwatched};
use crate::experiment::{Experiment, Name, Study};

/// An experiment whose parts are marked.
pub(super) struct Marked {
    pub(super) of: Box<dyn Experiment>,
    pub(super) lab: Arc<Laboratory>,
}

impl Experiment for Marked {
    fn name(&self) -> Name {
        self.of.name()
    }

    fn title(&self) -> String {
        self.of.title()
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        self.watched_parts(study, &Unwatched)
    }

    fn watched_parts(&self, study: &Study, progress: &dyn Progress) -> Vec<Part> {
        let mut parts = self.of.watched_parts(study, progress);
        if self.lab.source.is_chosen_on() {
            parts.iter_mut().for_each(mark);
        }
        parts
    }

    /// A short run on a recording is still on that recording.
    fn shrinks_the_world(&self) -> bool {
        false
    }
}

fn mark(part: &mut Part) {
    match part {
        Part::Text(_) => {}
        Part::Table(table) => mark_table(table),
        Part::Figure(figure) if shows_ours(figure) => fit(&mut figure.evidence),
        Part::Figure(_) => {}
    }
}

/// Our own columns, or all of a table in which we are one of the rows.
fn mark_table(table: &mut Table) {
    let is_row = table.rows().iter().flatten().any(|cell| match cell {
        Cell::Text(text) => is_ours(text),
        _ => false,
    });
    let all = is_row || table.name() == super::tables::CLAIMS;
    for column in table.columns_mut() {
        let own = column.name.starts_with(Way::Ours.column());
        if own || (all && column.name != super::tables::CEILING) {
            fit(&mut column.evidence);
        }
    }
}

fn shows_ours(figure: &Figure) -> bool {
    match &figure.plot {
        Plot::Chart(chart) => chart.layers.iter().any(|layer| is_ours(&layer.label)),
        Plot::Heat(_) => false,
    }
}

fn is_ours(label: &str) -> bool {
    label == Way::Ours.label() || ranking::is_ours(label) || coordinates::is_ours(label)
}

/// What is copied or assumed stays so.
fn fit(evidence: &mut Option<Evidence>) {
    if *evidence == Some(Evidence::NotFitted) {
        *evidence = Some(Evidence::Fitted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Setup, Size, conduct};
    use crate::ly::{Network, Settings, Source, detours};
    use nearside_report::Report;

    fn quick(item: &str, chosen_on: bool) -> Report {
        let network = Network {
            chosen_on,
            ..Network::generated(40, 0)
        };
        let lab = Laboratory::new(Source::Recorded(Arc::new(network)), Settings::default());
        let mut all = detours(lab);
        all.retain(|experiment| experiment.name().item == item);
        let setup = Setup {
            seeds: "0".parse().unwrap(),
            size: Size::Quick,
        };
        conduct(&all, &setup, &Unwatched).remove(0)
    }

    fn words(report: &Report) -> &str {
        match &report.parts[0] {
            Part::Text(text) => text,
            other => panic!("{other:?} comes first"),
        }
    }

    #[test]
    fn where_our_numbers_were_chosen_our_columns_and_shared_ones_are_fitted_and_the_text_agrees() {
        let sweep = quick("sweep-k", true);
        assert!(words(&sweep).contains("were chosen on these slices"));
        assert_eq!(
            sweep.figures().next().unwrap().evidence,
            Some(Evidence::Fitted)
        );
        for column in sweep.tables().next().unwrap().columns().iter().skip(1) {
            let expected = match column.name.starts_with("nearside") {
                true => Evidence::Fitted,
                false => Evidence::NotFitted,
            };
            assert_eq!(column.evidence, Some(expected), "{}", column.name);
        }
        let sessions = quick("figure6", true);
        let of = |table: &str, column: &str| {
            let table = sessions.tables().find(|t| t.name() == table).unwrap();
            let columns = table.columns().iter();
            columns.clone().find(|c| c.name == column).unwrap().evidence
        };
        assert_eq!(of("sessions", "mean_reduction"), Some(Evidence::Fitted));
        assert_eq!(of("claims", "measured"), Some(Evidence::Fitted));
        assert_eq!(of("claims", "ceiling"), Some(Evidence::NotFitted));
        assert_eq!(of("claims", "claim"), Some(Evidence::Published));
    }

    #[test]
    fn tables_of_rankings_and_of_predictions_are_marked_too() {
        for (item, table, column) in [
            ("ranking-figure", "ranking", "share_of_oracle_gain"),
            ("coordinates-table", "coordinates", "median_relative_error"),
        ] {
            for (chosen_on, expected) in [(true, Evidence::Fitted), (false, Evidence::NotFitted)] {
                let report = quick(item, chosen_on);
                let table = report.tables().find(|t| t.name() == table).unwrap();
                let of = |name: &str| {
                    let mut columns = table.columns().iter();
                    columns.find(|c| c.name == name).unwrap().evidence
                };
                assert_eq!(of(column), Some(expected), "{item}");
                assert_eq!(of("pairs"), None);
            }
        }
    }

    #[test]
    fn elsewhere_nothing_is_fitted() {
        let sweep = quick("sweep-k", false);
        assert!(words(&sweep).contains("nothing is fitted"));
        let mut columns = sweep.tables().flat_map(Table::columns);
        assert!(columns.all(|c| c.evidence != Some(Evidence::Fitted)));
        assert_eq!(
            sweep.figures().next().unwrap().evidence,
            Some(Evidence::NotFitted)
        );
    }
}
