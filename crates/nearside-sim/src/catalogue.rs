//! Every experiment there is, by paper, and the page that shows them all.

use nearside_report::{Chapter, Data, Page, Report};

use crate::armitage::{self, Conclusion};
use crate::batch::Progress;
use crate::experiment::{Experiment, Setup, Size, conduct};
use crate::lee;
use crate::ly::{self, Laboratory, Settings, Source};
use crate::seeds::Seeds;
use crate::tradeoff;

/// The experiments of one paper.
pub struct Volume {
    /// What users type: `armitage-as`.
    pub name: &'static str,
    /// What readers see.
    pub title: &'static str,
    /// Instances it is reported on when nobody says otherwise.
    pub repeats: usize,
    /// In the order of the paper.
    pub experiments: Vec<Box<dyn Experiment>>,
}

/// All papers, detours on an invented globe.
pub fn catalogue() -> Vec<Volume> {
    catalogue_in(Laboratory::new(Source::Generated, Settings::default()))
}

/// All papers, with detours in this laboratory. A new paper is a module with its experiments and an
/// entry here.
fn catalogue_in(lab: Laboratory) -> Vec<Volume> {
    vec![
        Volume {
            name: armitage::AS_CLUSTERS,
            title: "Armitage 2008: clusters by origin AS",
            repeats: Seeds::REPORTING,
            experiments: armitage::as_clusters(),
        },
        Volume {
            name: armitage::COUNTRY_CLUSTERS,
            title: "Armitage 2008: clusters by country and /8",
            repeats: Seeds::REPORTING,
            experiments: armitage::country_clusters(),
        },
        Volume {
            name: tradeoff::TRADE_OFF,
            title: "Trade-offs that both papers leave to future work",
            repeats: Seeds::REPORTING,
            experiments: tradeoff::trade_off(),
        },
        Volume {
            name: lee::LEE,
            title: "Lee 2004: the fewest servers within a delay bound",
            repeats: lee::REPEATS,
            experiments: lee::server_selection(),
        },
        Volume::detours(lab),
    ]
}

impl Volume {
    /// The paper of this name.
    pub fn find(name: &str) -> Option<Self> {
        catalogue().into_iter().find(|volume| volume.name == name)
    }

    /// The detour paper in this laboratory.
    pub fn detours(lab: Laboratory) -> Self {
        Self {
            name: ly::LY,
            title: "Ly 2010: detours by way of other players",
            repeats: ly::REPEATS,
            experiments: ly::detours(lab),
        }
    }

    /// The experiments a word stands for: one by its name, or [`Volume::ALL`].
    pub fn chosen(self, item: &str) -> Vec<Box<dyn Experiment>> {
        let all = self.experiments.into_iter();
        all.filter(|experiment| item == Self::ALL || experiment.name().item == item)
            .collect()
    }

    /// The words that [`chosen`](Self::chosen) understands.
    pub fn items(&self) -> impl Iterator<Item = &'static str> {
        let items = self.experiments.iter().map(|e| e.name().item);
        items.chain([Self::ALL])
    }

    /// The seeds when nobody says otherwise: those for reporting, as many as the paper has repeats,
    /// or two of development in a quick run, which nobody reports.
    pub fn usual_seeds(&self, size: Size) -> Seeds {
        match size {
            Size::Full => Seeds::reporting_on(self.repeats),
            Size::Quick => Setup::usual_seeds(size),
        }
    }

    /// The word for every experiment of a paper.
    pub const ALL: &'static str = "all";
}

/// Runs everything, each run once, and sets it on a page with the conclusion on top; detours in
/// `lab`. `footer` says who made it; the rest depends on the setup and the laboratory alone.
pub fn everything(setup: &Setup, lab: Laboratory, footer: String, progress: &dyn Progress) -> Page {
    let volumes = catalogue_in(lab);
    let counts: Vec<usize> = volumes.iter().map(|v| v.experiments.len()).collect();
    let titles: Vec<&str> = volumes.iter().map(|volume| volume.title).collect();
    let mut experiments: Vec<Box<dyn Experiment>> = vec![Box::new(Conclusion)];
    experiments.extend(volumes.into_iter().flat_map(|volume| volume.experiments));
    let mut reports = conduct(&experiments, setup, progress).into_iter();
    let conclusion = reports.next().expect("the conclusion is the first");
    let chapters = titles
        .into_iter()
        .zip(counts)
        .map(|(title, count)| Chapter {
            title: title.to_owned(),
            lead: Vec::new(),
            reports: reports.by_ref().take(count).collect::<Vec<Report>>(),
        });
    Page {
        title: "Game server discovery: published, measured, perfect".to_owned(),
        chapters: chapters.collect(),
        lead: conclusion.parts,
        footer,
        data: Data::Beside,
    }
}
