//! All runs that a set of experiments asked for.

use nearside_world::Population;

use super::{Crowd, Job, Setup};
use crate::batch::{Progress, parallel};
use crate::hindsight::{self, Cut};
use crate::record::RunRecord;
use crate::run::run;
use crate::scene::Scene;
use crate::score::Score;

/// Runs and their scores, each made once, whoever asked for it.
#[derive(Debug)]
pub struct Study {
    setup: Setup,
    entries: Vec<Entry>,
}

/// One job on all seeds.
#[derive(Debug)]
struct Entry {
    job: Job,
    scores: Vec<Score>,
    /// For each seed, the cuts of the job's stops.
    cuts: Vec<Vec<Cut>>,
    record: Option<RunRecord>,
}

/// One job on one seed.
struct Outcome {
    score: Score,
    cuts: Vec<Cut>,
    record: Option<RunRecord>,
}

impl Study {
    /// Runs every job on every seed, and `pictures` on the first, whose records are kept.
    pub(super) fn run(
        setup: Setup,
        jobs: Vec<Job>,
        pictures: Vec<Job>,
        progress: &dyn Progress,
    ) -> Self {
        let plan = Plan::new(jobs, pictures);
        progress.expect(plan.runs(&setup));
        let by_seed = parallel(setup.seeds.as_slice(), |&seed| {
            plan.outcomes(&setup, seed, progress)
        });
        Self {
            entries: entries(plan.jobs, by_seed),
            setup,
        }
    }

    /// How it was done.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The scores of a job, seed by seed; of one that was only drawn, that of the first seed.
    ///
    /// # Panics
    /// If no experiment asked for it: a mistake in the experiment.
    pub fn scores(&self, job: &Job) -> &[Score] {
        &self.entry(job).scores
    }

    /// What each stop that a job judges would have made of it: for each seed a cut for each stop.
    ///
    /// # Panics
    /// If no experiment asked for it: a mistake in the experiment.
    pub fn cuts(&self, job: &Job) -> &[Vec<Cut>] {
        &self.entry(job).cuts
    }

    /// The record of a job on the first seed.
    ///
    /// # Panics
    /// If no experiment asked for that picture.
    pub fn record(&self, job: &Job) -> &RunRecord {
        let record = self.entry(job).record.as_ref();
        record.expect("an experiment asks for the pictures it shows")
    }

    /// Something about every population of a crowd, seed by seed.
    pub fn over_populations<R: Send>(
        &self,
        crowd: Crowd,
        ask: impl Fn(&Population) -> R + Sync + Send,
    ) -> Vec<R> {
        parallel(self.setup.seeds.as_slice(), |&seed| {
            ask(&crowd.population(self.setup.size, seed))
        })
    }

    fn entry(&self, job: &Job) -> &Entry {
        let entry = self.entries.iter().find(|entry| entry.job == *job);
        entry.expect("an experiment asks for the runs it shows")
    }
}

fn entries(jobs: Vec<Job>, by_seed: Vec<Vec<Option<Outcome>>>) -> Vec<Entry> {
    let empty = |job| Entry {
        job,
        scores: Vec::new(),
        cuts: Vec::new(),
        record: None,
    };
    let mut entries: Vec<Entry> = jobs.into_iter().map(empty).collect();
    for outcomes in by_seed {
        for (entry, outcome) in entries.iter_mut().zip(outcomes) {
            if let Some(outcome) = outcome {
                entry.scores.push(outcome.score);
                entry.cuts.push(outcome.cuts);
                entry.record = entry.record.take().or(outcome.record);
            }
        }
    }
    entries
}

/// Every job once: first those of all seeds, then those that are only drawn.
struct Plan {
    jobs: Vec<Job>,
    /// So many of them are for all seeds.
    everywhere: usize,
    pictures: Vec<Job>,
}

impl Plan {
    fn new(wanted: Vec<Job>, pictures: Vec<Job>) -> Self {
        let mut jobs: Vec<Job> = Vec::new();
        add_new(&mut jobs, wanted);
        let everywhere = jobs.len();
        add_new(&mut jobs, pictures.iter().cloned());
        Self {
            jobs,
            everywhere,
            pictures,
        }
    }

    fn runs(&self, setup: &Setup) -> usize {
        let drawn_only = self.jobs.len() - self.everywhere;
        self.everywhere * setup.seeds.as_slice().len() + drawn_only
    }

    /// All jobs on one seed; `None` for those that are only drawn, and not from this one. Each
    /// population is made once and dropped when its jobs are done.
    fn outcomes(&self, setup: &Setup, seed: u64, progress: &dyn Progress) -> Vec<Option<Outcome>> {
        let is_first = seed == setup.seeds.first();
        let count = match is_first {
            true => self.jobs.len(),
            false => self.everywhere,
        };
        let mut outcomes: Vec<Option<Outcome>> = self.jobs.iter().map(|_| None).collect();
        for crowd in self.crowds() {
            let of_crowd = |&place: &usize| self.jobs[place].crowd == crowd;
            let places: Vec<usize> = (0..count).filter(of_crowd).collect();
            let population = crowd.population(setup.size, seed);
            let done = parallel(&places, |&place| {
                let job = &self.jobs[place];
                let keep = is_first && self.pictures.contains(job);
                let outcome = outcome(job, &population, seed, keep);
                progress.done();
                outcome
            });
            for (place, outcome) in places.into_iter().zip(done) {
                outcomes[place] = Some(outcome);
            }
        }
        outcomes
    }

    fn crowds(&self) -> Vec<Crowd> {
        let mut crowds = Vec::new();
        for job in &self.jobs {
            if !crowds.contains(&job.crowd) {
                crowds.push(job.crowd);
            }
        }
        crowds
    }
}

fn add_new(jobs: &mut Vec<Job>, more: impl IntoIterator<Item = Job>) {
    for job in more {
        if !jobs.contains(&job) {
            jobs.push(job);
        }
    }
}

fn outcome(job: &Job, population: &Population, seed: u64, keep: bool) -> Outcome {
    let listed = population.listed();
    let client = population.client(job.client);
    let scene = Scene {
        population,
        listed: &listed,
        client: client.expect("the papers' places are in the built-in world"),
        conditions: &job.conditions,
    };
    let record = run(&scene, &job.method, seed);
    Outcome {
        score: Score::of(&record, &job.method, &scene),
        cuts: hindsight::cuts(&record, &scene, &job.hindsight),
        record: keep.then_some(record),
    }
}
