//! What it costs to tell origins with a list: a marker for each AS, or a few bytes for each server.

use nearside_report::{Better, Cell, Column, Part, Table};
use nearside_wire::list::{OriginForm, as_order};
use nearside_world::Population;

use crate::armitage::Bulk;
use crate::experiment::{Crowd, Experiment, Job, Name, Study};
use crate::method::Method;

/// The comparison of list forms.
pub(super) struct ListBytes(pub(super) Name);

/// How a list tells where its servers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Not at all.
    Plain,
    /// A marker of six bytes before the servers of each AS (AS paper, section 3.4).
    AsMarkers,
    /// Four bytes behind each server (country paper, section 5.2).
    AsTuples,
    /// Two letters behind each server (country paper, section 5.1).
    CountryTuples,
}

impl Form {
    const ALL: [Self; 4] = [
        Self::Plain,
        Self::AsMarkers,
        Self::AsTuples,
        Self::CountryTuples,
    ];

    fn words(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::AsMarkers => "a marker for each AS",
            Self::AsTuples => "AS number of each server",
            Self::CountryTuples => "country of each server",
        }
    }

    /// Growth in percent and replies to be avoided, where a paper has them.
    fn published(self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::AsMarkers => (Some(4.0), Some(55.0)),
            // "Two bytes per game server", where a server has six.
            Self::CountryTuples => (Some(100.0 / 3.0), None),
            Self::Plain | Self::AsTuples => (None, None),
        }
    }

    /// A list of all servers in this form. The codecs write all forms but one, which nobody
    /// speaks; that one is counted.
    fn bytes(self, population: &Population) -> usize {
        let mut servers = population.listed();
        match self {
            Self::Plain => Bulk::of(&servers, None).bytes,
            Self::AsMarkers => {
                servers.sort_by_key(as_order);
                Bulk::of(&servers, Some(OriginForm::As)).bytes
            }
            Self::CountryTuples => Bulk::of(&servers, Some(OriginForm::Country)).bytes,
            Self::AsTuples => tuples(servers.len(), 6 + 4),
        }
    }
}

/// Bytes of a list with entries of this size, in packets as Steam's: 1386 bytes for entries behind
/// six of their own and 28 of IP and UDP; the end mark is an entry.
fn tuples(servers: usize, size: usize) -> usize {
    let entries = servers + 1;
    let packets = entries.div_ceil(1386 / size);
    packets * (28 + 6) + entries * size
}

impl Experiment for ListBytes {
    fn name(&self) -> Name {
        self.0
    }

    fn title(&self) -> String {
        "Origins on the wire: markers against tuples".to_owned()
    }

    fn jobs(&self) -> Vec<Job> {
        vec![full_scan()]
    }

    fn parts(&self, study: &Study) -> Vec<Part> {
        let text = "A client that is told origins needs no database of its own. Markers are cheap \
                    because servers of one AS stand together; the price is that the list is sorted \
                    by AS. It pays when the stop avoids so many replies to A2S_INFO.";
        vec![text.into(), table(study).into()]
    }
}

/// What a reply weighs is taken from a full scan.
fn full_scan() -> Job {
    Job::new(Crowd::Css, "DE", Method::CONVENTIONAL)
}

/// A form on every seed.
pub(super) struct Weight {
    /// In percent of the plain list.
    pub(super) growth: Vec<f64>,
    /// Replies that weigh as much as what is added.
    pub(super) pays: Vec<f64>,
    added: Vec<f64>,
}

/// The weight of a form, seed by seed.
pub(super) fn weight(study: &Study, form: Form) -> Weight {
    let lists = study.over_populations(Crowd::Css, |population| {
        let plain = Form::Plain.bytes(population) as f64;
        (plain, form.bytes(population) as f64 - plain)
    });
    let scores = study.scores(&full_scan()).iter();
    let replies = scores.map(|score| score.bytes_received as f64 / score.answered as f64);
    Weight {
        growth: lists
            .iter()
            .map(|(plain, added)| 100.0 * added / plain)
            .collect(),
        pays: lists
            .iter()
            .zip(replies)
            .map(|((_, added), reply)| (added / reply).ceil())
            .collect(),
        added: lists.iter().map(|(_, added)| *added).collect(),
    }
}

fn table(study: &Study) -> Table {
    let caption = "A list of all CS:S servers in each form, with IP and UDP headers";
    let mut table = Table::new("forms", caption)
        .column(Column::new("form"))
        .column(Column::new("added").unit("bytes").fitted())
        .column(
            Column::new("paper_growth")
                .heading("growth")
                .unit("%")
                .published(),
        )
        .column(Column::new("growth").unit("%").fitted())
        .column(
            Column::new("paper_pays")
                .heading("break-even")
                .unit("replies")
                .published(),
        )
        .column(
            Column::new("pays")
                .heading("break-even")
                .unit("replies")
                .fitted(),
        );
    for form in Form::ALL {
        let weight = weight(study, form);
        let (growth, pays) = form.published();
        let number = |value: Option<f64>, decimals| {
            value.map_or(Cell::Missing, |value| Cell::number(value, decimals))
        };
        table.push([
            form.words().into(),
            Cell::spread(&weight.added, Better::Low, 0),
            number(growth, 1),
            Cell::spread(&weight.growth, Better::Low, 1),
            number(pays, 0),
            Cell::spread(&weight.pays, Better::Low, 0),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use nearside_world::{Game, WorldParams, generate};

    use super::*;

    #[test]
    fn counting_agrees_with_the_codecs_where_there_are_codecs() {
        let population = generate(&WorldParams::builtin(), Game::Css, Some(1_500), 1);
        let servers = population.servers.len();
        assert_eq!(tuples(servers, 6), Form::Plain.bytes(&population));
        assert_eq!(tuples(servers, 8), Form::CountryTuples.bytes(&population));
    }

    #[test]
    fn markers_are_the_cheapest_way_to_tell_origins() {
        let population = generate(&WorldParams::builtin(), Game::Css, Some(5_000), 1);
        let [plain, markers, numbers, countries] = Form::ALL.map(|form| form.bytes(&population));
        assert!(plain < markers && markers < countries && countries < numbers);
    }
}
