use crate::{ClientId, Delay, Instance, ServerId};

/// The core s* of a session: the server whose farthest client is nearest, over all servers (step 2 of
/// the paper). Ties go to the lower id, so that a distributed tournament finds the same one.
pub fn core_server(
    instance: &Instance,
    clients: impl IntoIterator<Item = ClientId>,
) -> Option<ServerId> {
    let mut farthest = vec![Delay::ZERO; instance.servers().len()];
    for client in clients {
        for (so_far, &distance) in farthest.iter_mut().zip(instance.access_row(client)) {
            *so_far = distance.max(*so_far);
        }
    }
    instance
        .server_ids()
        .min_by_key(|server| (farthest[server.index()], *server))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_core_of_figure_1_is_the_middle_server() {
        let instance = samples::figure1();
        let core = core_server(&instance, instance.client_ids());
        assert_eq!(core, Some(ServerId::new(1)));
    }

    #[test]
    fn a_tie_goes_to_the_lower_id() {
        let instance = samples::figure1();
        let nobody = core_server(&instance, []);
        assert_eq!(nobody, Some(ServerId::new(0)));
    }
}
