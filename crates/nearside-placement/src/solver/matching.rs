use super::model::{Model, Near};
use crate::Delay;

/// Seats at servers with limited places: a maximum matching, grown by augmenting paths (a newcomer
/// may push others on to servers that they can use as well).
#[derive(Debug, Clone)]
pub(crate) struct Matching {
    server_of: Vec<Option<usize>>,
    guests: Vec<Vec<usize>>,
}

/// Why a client has no seat: these clients together have one place too few at all the servers that
/// any of them may use (Hall's condition). The client itself is among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crowd(pub(crate) Vec<usize>);

/// A server with a free place, and which client found each server on the way.
struct Path {
    free: usize,
    found_by: Vec<Option<usize>>,
}

impl Matching {
    pub(crate) fn new(model: &Model<'_>) -> Self {
        Self {
            server_of: vec![None; model.clients()],
            guests: vec![Vec::new(); model.servers()],
        }
    }

    pub(crate) fn server_of(&self, client: usize) -> Option<usize> {
        self.server_of[client]
    }

    /// Seats a client at a server that `allows` it, moving others as far as `allows` them.
    pub(crate) fn seat(
        &mut self,
        model: &Model<'_>,
        client: usize,
        allows: impl Fn(Near) -> bool,
    ) -> Result<(), Crowd> {
        let path = self.explore(model, client, allows)?;
        self.shift(&path);
        Ok(())
    }

    /// Servers from which somebody could be moved on, over any number of others, to a free place. Who is
    /// near none of them has no seat. That stays true whoever is seated meanwhile, so one look serves
    /// many clients.
    pub(crate) fn with_a_way_out(&self, model: &Model<'_>, radii: &[Option<Delay>]) -> Vec<bool> {
        let has_place = |&server: &usize| {
            radii[server].is_some() && self.guests[server].len() < model.places(server)
        };
        let mut ways_out = vec![false; self.guests.len()];
        let mut next: Vec<usize> = (0..self.guests.len()).filter(has_place).collect();
        next.iter().for_each(|&server| ways_out[server] = true);
        while let Some(server) = next.pop() {
            let Some(radius) = radii[server] else {
                continue;
            };
            for guest in model.clients_within(server, radius) {
                if let Some(left) = self.server_of[guest.index()].filter(|&left| !ways_out[left]) {
                    ways_out[left] = true;
                    next.push(left);
                }
            }
        }
        ways_out
    }

    /// Why a client cannot be seated; `None` if it can.
    pub(crate) fn crowd(
        &self,
        model: &Model<'_>,
        client: usize,
        allows: impl Fn(Near) -> bool,
    ) -> Option<Crowd> {
        self.explore(model, client, allows).err()
    }

    /// The way to a free place, breadth first.
    fn explore(
        &self,
        model: &Model<'_>,
        client: usize,
        allows: impl Fn(Near) -> bool,
    ) -> Result<Path, Crowd> {
        let mut found_by = vec![None; self.guests.len()];
        let mut crowd = vec![client];
        let mut next = 0;
        while let Some(&seeker) = crowd.get(next) {
            next += 1;
            for near in model
                .servers_near(seeker)
                .iter()
                .filter(|near| allows(**near))
            {
                let server = near.index();
                if found_by[server].is_some() {
                    continue;
                }
                found_by[server] = Some(seeker);
                if self.guests[server].len() < model.places(server) {
                    return Ok(Path {
                        free: server,
                        found_by,
                    });
                }
                crowd.extend(&self.guests[server]);
            }
        }
        Err(Crowd(crowd))
    }

    /// Moves everybody on the path one server on, from the free place back to the newcomer.
    fn shift(&mut self, path: &Path) {
        let mut server = path.free;
        loop {
            let client =
                path.found_by[server].expect("the path consists of servers that were found");
            let left = self.server_of[client].replace(server);
            self.guests[server].push(client);
            let Some(left) = left else { return };
            self.guests[left].retain(|&guest| guest != client);
            server = left;
        }
    }
}
