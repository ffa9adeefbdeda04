use super::model::Model;
use crate::Delay;

/// A radius cap for each server such that any two servers may use theirs at once:
/// h_j + d(j,k) + h_k ≤ Δ and 2·h_j ≤ Δ. With caps fixed, the problem is plain set cover, and every
/// allocation within the bound lives under some caps.
///
/// (With f_j = Δ/2 − h_j these are the functions f ≥ 0 with f_j + f_k ≥ d(j,k); caps that cannot grow
/// are the points of the tight span of d. A server with a negative cap cannot be used and stands in
/// nobody's way.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caps(Vec<Delay>);

impl Caps {
    /// All the room for one server, what is left for the others: h = Δ/2 − d(·, anchor).
    pub(crate) fn anchored(model: &Model<'_>, anchor: usize) -> Self {
        let apart = model.separations(anchor).iter();
        let mut caps = Self(apart.map(|&apart| model.half() - apart).collect());
        // Where delays are not metric, others may still be in each other's way.
        let order = std::iter::once(anchor).chain((0..model.servers()).filter(|&j| j != anchor));
        caps.grow(model, order);
        caps
    }

    /// Any numbers; [`Caps::grow`] makes them caps.
    pub(crate) fn rough(numbers: Vec<Delay>) -> Self {
        Self(numbers)
    }

    pub(crate) fn get(&self, server: usize) -> Delay {
        self.0[server]
    }

    pub(crate) fn numbers(&self) -> &[Delay] {
        &self.0
    }

    /// Gives each server in turn all the room that the others leave. After a full turn the caps are
    /// valid, whatever they were before, and if they were valid, none has shrunk.
    pub(crate) fn grow(&mut self, model: &Model<'_>, order: impl IntoIterator<Item = usize>) {
        for server in order {
            self.0[server] = self.room(model, server);
        }
    }

    fn room(&self, model: &Model<'_>, server: usize) -> Delay {
        let mut room = model.half();
        let others = self.0.iter().zip(model.separations(server));
        for (other, (&cap, &apart)) in others.enumerate() {
            let left = model.limit() - apart - cap;
            if left < room && other != server && cap >= Delay::ZERO {
                room = left;
            }
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Task;
    use crate::{network::NetworkParams, samples};

    fn is_valid(model: &Model<'_>, caps: &Caps) -> bool {
        let used = |&server: &usize| caps.get(server) >= Delay::ZERO;
        let servers: Vec<usize> = (0..model.servers()).filter(used).collect();
        servers.iter().all(|&one| {
            servers.iter().all(|&other| {
                caps.get(one) + model.separations(one)[other] + caps.get(other) <= model.limit()
            })
        })
    }

    #[test]
    fn anchored_caps_fall_with_the_distance_from_the_anchor() {
        let instance = samples::figure1();
        let bound = Delay::from_millis(6.0).unwrap();
        let model = Model::new(Task {
            instance: &instance,
            bound,
        });
        let caps = Caps::anchored(&model, 1);
        let millis = |server| caps.get(server).as_millis().round();
        assert_eq!([millis(0), millis(1), millis(2)], [2.0, 3.0, 2.0]);
    }

    #[test]
    fn growing_makes_any_numbers_valid() {
        let params = NetworkParams {
            systems: 5,
            routers: 10,
            servers: 12,
            ..NetworkParams::default()
        };
        let instance = params.generate(1);
        let bound = Delay::from_millis(20.0).unwrap();
        let model = Model::new(Task {
            instance: &instance,
            bound,
        });
        for seed in 0..50u64 {
            let number = |server: u64| (seed * 7 + server * 13) % 29;
            let numbers = (0..12).map(|server| Delay::from_millis(number(server) as f64).unwrap());
            let mut caps = Caps::rough(numbers.collect());
            caps.grow(&model, 0..12);
            assert!(is_valid(&model, &caps));
            let before = caps.clone();
            caps.grow(&model, (0..12).rev());
            assert!(is_valid(&model, &caps));
            assert!((0..12).all(|server| caps.get(server) >= before.get(server)));
        }
    }
}
