//! What a query selects, remembered for a second: the next client with the same question gets the
//! same packets, and a flood of one question costs what it sends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nearside_types::{Moment, ServerAddr};
use nearside_wire::list::{Listed, OriginForm, as_order};
use nearside_wire::{quake3::master as quake3, steam};

use crate::candidates::Candidates;
use crate::payload::Payload;
use crate::scans::{Purpose, QUESTION, Scan};
use crate::selection::{Question, Selection};
use crate::shelf::Shelf;

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
    fn new(question: &Question, candidates: &Candidates<'_>, shelf: &Shelf) -> Self {
        let met = candidates.servers(question, shelf);
        let selected = met.filter(|server| question.selects(server));
        let mut servers: Vec<Listed> = selected
            .map(|server| Listed {
                addr: server.addr,
                origin: server.origin,
            })
            .collect();
        // Several groups are in order each, not together.
        if !servers.is_sorted_by_key(as_order) {
            servers.sort_by_key(as_order);
        }
        servers.dedup_by_key(|listed| listed.addr);
        if question.collapse {
            servers.dedup_by_key(|listed| listed.addr.ip());
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
    /// Steam pages by the bytes that ask for them, the cookie left out.
    prepared: HashMap<Box<[u8]>, Prepared>,
}

/// A page, and how old its list is.
#[derive(Debug)]
struct Prepared {
    page: Payload,
    made: Moment,
    version: u64,
    used: Moment,
}

#[derive(Debug)]
struct Kept {
    view: View,
    made: Moment,
    version: u64,
    used: Moment,
    /// Whether it was asked for more than once.
    again: bool,
}

/// Pages that are kept by their question: those of thirty lists of 30,000.
const MOST_PREPARED: usize = 4_096;
/// Longer questions are read each time.
const LONGEST_QUESTION: usize = 300;

/// Pages of one view: those of a list of 100,000 in two forms.
const MOST_PAGES: usize = 2_048;

/// A list is at most this old, as long as there is time for looking.
const FRESH: Duration = Duration::from_secs(1);
/// Lists nobody has asked for in so long are forgotten.
const UNUSED: Duration = Duration::from_secs(10);
/// Different questions that are remembered.
const MOST_VIEWS: usize = 256;
/// Entries that are remembered in all, 36 bytes each; one view is always kept.
const MOST_SERVERS: usize = 8_000_000;

impl Views {
    /// The view of a selection, made anew if the registry has changed and a second has passed.
    /// `may_scan` is asked before it is planned where to look, and again before that is done; if it
    /// forbids either, an old view is better than none.
    pub(crate) fn get(
        &mut self,
        now: Moment,
        selection: &Selection,
        shelf: &Shelf,
        mut may_scan: impl FnMut(Scan) -> bool,
    ) -> Option<&mut View> {
        let known = self.views.get(selection);
        let is_good = |kept: &Kept| kept.version == shelf.version() || now.since(kept.made) < FRESH;
        if !known.is_some_and(is_good) {
            let question = selection.question();
            let purpose = match known.is_some() || question.is_whole_game {
                true => Purpose::Usual,
                false => Purpose::New,
            };
            let mut may_take = |cost| may_scan(Scan { cost, purpose });
            if may_take(QUESTION)
                && let Some(candidates) = Candidates::of(&question, shelf, &mut may_take)
                && may_take(candidates.count * question.cost)
            {
                let kept = Kept {
                    view: View::new(&question, &candidates, shelf),
                    made: now,
                    version: shelf.version(),
                    used: now,
                    again: known.is_some(),
                };
                self.views.remove(selection);
                self.make_room(kept.view.servers.len());
                self.views.insert(selection.clone(), kept);
            }
        }
        let was_known = self
            .views
            .get(selection)
            .is_some_and(|kept| kept.made != now);
        let kept = self.views.get_mut(selection)?;
        kept.used = now;
        kept.again |= was_known;
        Some(&mut kept.view)
    }

    /// The page that was prepared for a question, while its list is as good as a view would be.
    pub(crate) fn prepared(
        &mut self,
        now: Moment,
        question: &[u8],
        shelf: &Shelf,
    ) -> Option<Payload> {
        let prepared = self.prepared.get_mut(question)?;
        let is_good = prepared.version == shelf.version() || now.since(prepared.made) < FRESH;
        prepared.used = now;
        is_good.then(|| prepared.page.clone())
    }

    /// Keeps a page of a selection's view for all who ask the same.
    pub(crate) fn prepare(&mut self, question: &[u8], selection: &Selection, page: &Payload) {
        let Some(kept) = self.views.get(selection) else {
            return;
        };
        if question.len() > LONGEST_QUESTION {
            return;
        }
        // All of them grow old in a second: whoever pages then prepares them anew.
        if self.prepared.len() >= MOST_PREPARED {
            self.prepared.clear();
        }
        let prepared = Prepared {
            page: page.clone(),
            made: kept.made,
            version: kept.version,
            used: kept.used,
        };
        self.prepared.insert(question.into(), prepared);
    }

    /// Those that were asked for once go first: whoever has a new question each time drives out nobody who
    /// pages through a list.
    fn make_room(&mut self, servers: usize) {
        let total = |views: &HashMap<Selection, Kept>| -> usize {
            views.values().map(|kept| kept.view.servers.len()).sum()
        };
        while self.views.len() >= MOST_VIEWS
            || (!self.views.is_empty() && total(&self.views) + servers > MOST_SERVERS)
        {
            let all = self.views.iter();
            let oldest = all.min_by_key(|(_, kept)| (kept.again, kept.used));
            let Some(oldest) = oldest.map(|(selection, _)| selection.clone()) else {
                return;
            };
            self.views.remove(&oldest);
        }
    }

    /// Forgets what nobody has asked for lately, so that a guest with many questions fills the memory
    /// for seconds, not for ever.
    pub(crate) fn forget_unused(&mut self, now: Moment) {
        self.views.retain(|_, kept| now.since(kept.used) < UNUSED);
        self.prepared
            .retain(|_, prepared| now.since(prepared.used) < UNUSED);
    }

    pub(crate) fn len(&self) -> usize {
        self.views.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::Secret;
    use nearside_types::Origin;

    #[test]
    fn a_page_that_is_asked_for_stays_prepared_while_nothing_changes() {
        let (mut views, shelf) = (Views::default(), Shelf::new(Secret([1; 16])));
        let selection = Selection::Steam {
            region: 0xFF,
            filter: Vec::new(),
        };
        let page = Payload::from(&b"a page"[..]);
        let at = |seconds| Moment::EPOCH + Duration::from_secs(seconds);
        assert!(views.get(at(100), &selection, &shelf, |_| true).is_some());
        // The view is old by now, and as good as ever.
        assert!(views.get(at(109), &selection, &shelf, |_| true).is_some());
        views.prepare(b"question", &selection, &page);
        for second in 109..130 {
            views.forget_unused(at(second));
            let found = views.prepared(at(second), b"question", &shelf);
            assert_eq!(found.as_ref(), Some(&page), "{second}");
        }
        views.forget_unused(at(200));
        assert_eq!(views.prepared(at(200), b"question", &shelf), None);
    }

    #[test]
    fn new_questions_drive_out_each_other_and_nobody_who_pages() {
        let (mut views, shelf) = (Views::default(), Shelf::new(Secret([1; 16])));
        let selection = |number: u32| Selection::Steam {
            region: 0xFF,
            filter: format!(r"\zzz\{number}").into_bytes(),
        };
        let at = |millis| Moment::EPOCH + Duration::from_millis(millis);
        assert!(views.get(at(1), &selection(0), &shelf, |_| true).is_some());
        assert!(views.get(at(2), &selection(0), &shelf, |_| true).is_some());
        for number in 1..2_000 {
            let asked = views.get(at(3), &selection(number), &shelf, |_| true);
            assert!(asked.is_some());
        }
        assert_eq!(views.len(), MOST_VIEWS);
        let again = views.get(at(4), &selection(0), &shelf, |_| false);
        assert!(again.is_some(), "it is still there");
    }

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
