//! What a query selects, remembered for a second: the next client with the same question gets the
//! same packets, and a flood of one question costs what it sends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nearside_types::{Moment, ServerAddr};
use nearside_wire::list::{Listed, OriginForm, as_order};
use nearside_wire::{quake3::master as quake3, steam};

use crate::payload::Payload;
use crate::selection::Selection;
use crate::shelf::{Groups, Shelf};

/// Servers that were selected together, in list order.
#[derive(Debug)]
pub struct View {
    servers: Vec<Listed>,
    /// The whole list as Quake 3 packets, for each form that was asked for.
    packets: Vec<(quake3::ReplyForm, Arc<[Payload]>)>,
    /// Pages of the Steam form, by where they begin: all who page through ask for the same ones, at
    /// most [`MOST_PAGES`] are kept.
    pages: HashMap<(usize, Option<OriginForm>), Payload>,
}

impl View {
    fn new(selection: &Selection, groups: Groups, shelf: &Shelf) -> Self {
        let matches = selection.matcher();
        let selected = shelf.listed(groups).filter(|server| matches(server));
        let mut servers: Vec<Listed> = selected
            .map(|server| Listed {
                addr: server.addr,
                origin: server.origin,
            })
            .collect();
        // Several games are in order each, not together.
        if !servers.is_sorted_by_key(as_order) {
            servers.sort_by_key(as_order);
        }
        Self {
            servers,
            packets: Vec::new(),
            pages: HashMap::new(),
        }
    }

    /// All of them.
    pub fn servers(&self) -> &[Listed] {
        &self.servers
    }

    /// The Steam page behind a page's last server, which need not be there any more; the first one
    /// without it.
    pub(crate) fn steam(
        &mut self,
        last: Option<(u32, ServerAddr)>,
        origin: Option<OriginForm>,
    ) -> Payload {
        let servers = &self.servers;
        let start = last.map_or(0, |last| {
            servers.partition_point(|listed| as_order(listed) <= last)
        });
        if let Some(page) = self.pages.get(&(start, origin)) {
            return page.clone();
        }
        let page: Payload = steam::page(&servers[start..], origin).emit().into();
        // Who pages begins where the page before ended. Who begins anywhere else is answered, and
        // not remembered beyond what paging needs.
        if self.pages.len() < MOST_PAGES.min(servers.len() / 64 + 4) {
            self.pages.insert((start, origin), page.clone());
        }
        page
    }

    /// The list as Quake 3 packets.
    pub(crate) fn quake3(&mut self, form: quake3::ReplyForm) -> Arc<[Payload]> {
        let known = self.packets.iter().find(|(known, _)| *known == form);
        if let Some((_, packets)) = known {
            return Arc::clone(packets);
        }
        let pages = quake3::paginate(&self.servers, form).into_iter();
        let packets: Arc<[Payload]> = pages
            .map(|page| Payload::from(quake3::ListReply::List(page).emit(form)))
            .collect();
        self.packets.push((form, Arc::clone(&packets)));
        packets
    }
}

/// Views by what they select.
#[derive(Debug, Default)]
pub(crate) struct Views {
    views: HashMap<Selection, Kept>,
}

#[derive(Debug)]
struct Kept {
    view: View,
    made: Moment,
    version: u64,
    used: Moment,
}

/// Pages of one view: those of a list of 100,000 in two forms.
const MOST_PAGES: usize = 2_048;

/// A list is at most this old.
const FRESH: Duration = Duration::from_secs(1);
/// Different questions that are remembered.
const MOST_VIEWS: usize = 256;
/// Entries that are remembered in all, 36 bytes each; one view is always kept.
const MOST_SERVERS: usize = 8_000_000;

impl Views {
    /// The view of a selection, made anew if the registry has changed and a second has passed.
    /// `may_scan` is asked first, with how many servers are to be looked at.
    pub(crate) fn get(
        &mut self,
        now: Moment,
        selection: &Selection,
        shelf: &Shelf,
        may_scan: impl FnOnce(usize) -> bool,
    ) -> Option<&mut View> {
        let is_good = |kept: &Kept| kept.version == shelf.version() || now.since(kept.made) < FRESH;
        if !self.views.get(selection).is_some_and(is_good) {
            let groups = selection.groups();
            if !may_scan(shelf.count(groups)) {
                return None;
            }
            let kept = Kept {
                view: View::new(selection, groups, shelf),
                made: now,
                version: shelf.version(),
                used: now,
            };
            self.make_room(kept.view.servers.len());
            self.views.insert(selection.clone(), kept);
        }
        let kept = self.views.get_mut(selection)?;
        kept.used = now;
        Some(&mut kept.view)
    }

    fn make_room(&mut self, servers: usize) {
        let total = |views: &HashMap<Selection, Kept>| -> usize {
            views.values().map(|kept| kept.view.servers.len()).sum()
        };
        while self.views.len() >= MOST_VIEWS
            || (!self.views.is_empty() && total(&self.views) + servers > MOST_SERVERS)
        {
            let oldest = self.views.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(selection, _)| selection.clone()) else {
                return;
            };
            self.views.remove(&oldest);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.views.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearside_types::Origin;

    #[test]
    fn a_client_that_begins_anywhere_does_not_fill_the_memory() {
        let listed = |number: u32| Listed {
            addr: ServerAddr::new(std::net::Ipv4Addr::from(0x0900_0000 + number).into(), 27015)
                .expect("the port is not 0"),
            origin: Origin::default(),
        };
        let mut view = View {
            servers: (0..10_000).map(listed).collect(),
            packets: Vec::new(),
            pages: HashMap::new(),
        };
        for start in view.servers.clone() {
            let page = view.steam(Some(as_order(&start)), None);
            assert!(!page.is_empty());
        }
        assert!(view.pages.len() <= 10_000 / 64 + 4, "{}", view.pages.len());
    }
}
