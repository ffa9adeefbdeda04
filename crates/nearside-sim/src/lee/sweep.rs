//! Methods on the same instances at the same bounds.

use nearside_placement::{Delay, Task};

use super::method::{Method, Run};
use super::setting::{Setting, bounds};
use crate::batch::{Progress, parallel};
use crate::experiment::Setup;

/// Every method on every instance at every bound of one setting.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) setting: Setting,
    pub(super) methods: Vec<Method>,
    pub(super) bounds: Vec<Delay>,
    /// By seed, then by bound, then by method.
    runs: Vec<Vec<Vec<Run>>>,
}

impl Sweep {
    /// Runs them, an instance at a time.
    pub(super) fn run(
        setup: &Setup,
        setting: Setting,
        methods: &[Method],
        progress: &dyn Progress,
    ) -> Self {
        let bounds = bounds();
        progress.expect(setup.seeds.as_slice().len());
        let runs = parallel(setup.seeds.as_slice(), |&seed| {
            let instance = setting.instance(setup.size, seed);
            let instance = &instance;
            let at = |&bound: &Delay| -> Vec<Run> {
                let run = |method: &Method| method.run(Task { instance, bound }, seed);
                methods.iter().map(run).collect()
            };
            let runs = bounds.iter().map(at).collect();
            progress.done();
            runs
        });
        Self {
            setting,
            methods: methods.to_vec(),
            bounds,
            runs,
        }
    }

    /// Instances.
    pub(super) fn instances(&self) -> usize {
        self.runs.len()
    }

    /// Of a method at the bound of this place, on those instances where every method has found an
    /// allocation: only there can they be compared.
    pub(super) fn compared(
        &self,
        bound: usize,
        method: Method,
        measure: impl Fn(&Run) -> f64,
    ) -> Vec<f64> {
        let method = self.place(method);
        let here = self.runs.iter().map(|by_bound| &by_bound[bound]);
        here.filter(|runs| all_found(runs))
            .map(|runs| measure(&runs[method]))
            .collect()
    }

    /// Instances at a bound on which a method has found an allocation.
    pub(super) fn found(&self, bound: usize, method: Method) -> usize {
        self.count(bound, method, |run| run.servers.is_some())
    }

    /// Instances at a bound on which a method has proven what it says.
    pub(super) fn proven(&self, bound: usize, method: Method) -> usize {
        self.count(bound, method, |run| run.is_proven)
    }

    fn count(&self, bound: usize, method: Method, which: impl Fn(&Run) -> bool) -> usize {
        let method = self.place(method);
        let runs = self.runs.iter().map(|by_bound| &by_bound[bound][method]);
        runs.filter(|run| which(run)).count()
    }

    /// For each instance, servers of `method` over servers of `other`, both summed over the bounds at
    /// which all methods have found an allocation.
    pub(super) fn ratios(&self, method: Method, other: Method) -> Vec<f64> {
        let total = |by_bound: &[Vec<Run>], place: usize| -> f64 {
            let compared = by_bound.iter().filter(|runs| all_found(runs));
            compared.map(|runs| runs[place].servers()).sum()
        };
        let (place, other) = (self.place(method), self.place(other));
        let pairs = self.runs.iter().map(|by_bound| {
            let (one, two) = (total(by_bound, place), total(by_bound, other));
            (two > 0.0).then(|| one / two)
        });
        pairs.flatten().collect()
    }

    /// For each instance, a measure summed over the bounds at which all methods have found an
    /// allocation, over the number of those bounds.
    pub(super) fn means(&self, method: Method, measure: impl Fn(&Run) -> f64) -> Vec<f64> {
        let place = self.place(method);
        let means = self.runs.iter().map(|by_bound| {
            let compared = by_bound.iter().filter(|runs| all_found(runs));
            let values: Vec<f64> = compared.map(|runs| measure(&runs[place])).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        });
        means.flatten().collect()
    }

    fn place(&self, method: Method) -> usize {
        let place = self.methods.iter().position(|&known| known == method);
        place.expect("a figure asks for the methods it shows")
    }
}

fn all_found(runs: &[Run]) -> bool {
    runs.iter().all(|run| run.servers.is_some())
}
