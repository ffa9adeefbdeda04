use crate::{ClientId, Instance, ServerId};

/// Which server each client contacts: the allocation A of the paper.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Allocation {
    contact: Vec<ServerId>,
}

impl Allocation {
    /// The contact server of each client, in the order of client ids.
    pub fn new(contact: Vec<ServerId>) -> Self {
        Self { contact }
    }

    /// Every client at the same server.
    pub fn all_at(server: ServerId, clients: usize) -> Self {
        Self::new(vec![server; clients])
    }

    /// How many clients it speaks of.
    pub fn clients(&self) -> usize {
        self.contact.len()
    }

    /// The contact server of a client.
    ///
    /// # Panics
    /// When the allocation knows no such client.
    pub fn server_of(&self, client: ClientId) -> ServerId {
        self.contact[client.index()]
    }

    /// The contact servers in the order of client ids.
    pub fn contacts(&self) -> &[ServerId] {
        &self.contact
    }

    /// The servers in use, S(A) of the paper, ascending.
    pub fn servers_in_use(&self) -> Vec<ServerId> {
        let mut used = self.contact.clone();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Pairs of names, in the order of clients.
    pub fn by_name<'i>(
        &self,
        instance: &'i Instance,
    ) -> impl Iterator<Item = (&'i str, &'i str)> + use<'i, '_> {
        let names = instance.clients().iter().map(String::as_str);
        names.zip(self.contact.iter().map(|&id| instance.server_name(id)))
    }
}
