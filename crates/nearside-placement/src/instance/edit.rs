//! Changes to an instance that keep it valid, for sessions whose members come and go.

use super::{Instance, Server};
use crate::{ClientId, Delay, ServerId};

impl Instance {
    /// Servers without clients yet. Everything else in this crate wants at least one client.
    pub(crate) fn without_clients(&self) -> Self {
        self.restricted_to(&[])
    }

    /// Adds a client at the end of the list; `row` has a delay for each server.
    pub(crate) fn add_client(&mut self, name: String, row: &[Delay]) -> ClientId {
        self.clients.push(name);
        self.access.push_row(row);
        ClientId::new(self.clients.len() - 1)
    }

    /// Removes a client; those behind it move up.
    pub(crate) fn remove_client(&mut self, client: ClientId) {
        self.clients.remove(client.index());
        self.access.remove_row(client.index());
    }

    pub(crate) fn set_access(&mut self, client: ClientId, server: ServerId, delay: Delay) {
        self.access.set(client.index(), server.index(), delay);
    }

    pub(crate) fn set_between(&mut self, from: ServerId, to: ServerId, delay: Delay) {
        self.between.set(from.index(), to.index(), delay);
    }

    pub(crate) fn server_mut(&mut self, server: ServerId) -> &mut Server {
        &mut self.servers[server.index()]
    }
}
