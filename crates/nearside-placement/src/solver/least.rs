use crate::{Cost, Instance};

/// What every allocation costs, whatever the delays: as many of the cheapest servers as the largest
/// ones have places for everybody. Infinite when all together have too few. Heuristics say this much
/// about the optimum, and the covers and the search say more.
pub(super) fn least_cost(instance: &Instance) -> Cost {
    let clients = instance.clients().len();
    let mut places: Vec<usize> = Vec::new();
    let mut costs: Vec<Cost> = Vec::new();
    for server in instance.servers() {
        places.push(server.places(clients).min(clients));
        costs.push(server.cost);
    }
    places.sort_unstable_by(|one, other| other.cmp(one));
    costs.sort_unstable();
    let mut left = clients;
    let mut needed = Cost::ZERO;
    for (places, cost) in places.into_iter().zip(costs) {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(places);
        needed += cost;
    }
    match left {
        0 => needed,
        _ => Cost::INFINITE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn least(capacities: [Option<u32>; 3], costs: [f64; 3]) -> Cost {
        let mut parts = samples::figure1_parts();
        for (server, (capacity, cost)) in parts
            .servers
            .iter_mut()
            .zip(capacities.into_iter().zip(costs))
        {
            server.capacity = capacity;
            server.cost = Cost::from_units(cost).unwrap();
        }
        least_cost(&Instance::new(parts).unwrap())
    }

    #[test]
    fn somebody_needs_one_server_and_crowds_need_places() {
        assert_eq!(least([None; 3], [1.0; 3]), Cost::ONE);
        assert_eq!(least([Some(1); 3], [1.0; 3]), Cost::servers(2));
        assert_eq!(least([Some(0), Some(1), Some(0)], [1.0; 3]), Cost::INFINITE);
    }

    #[test]
    fn the_cheapest_prices_count_even_where_larger_servers_are_dear() {
        let least = least([Some(2), Some(1), Some(1)], [9.0, 2.0, 3.0]);
        assert_eq!(least, Cost::from_units(2.0).unwrap());
    }
}
