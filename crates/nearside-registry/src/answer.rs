//! List requests: a cookie first, then the list.

use nearside_types::{Moment, ServerAddr};
use nearside_wire::list::{Listed, as_order};
use nearside_wire::{quake3::master as quake3, steam};

use crate::cookie::Use;
use crate::master::Master;
use crate::payload::Payload;
use crate::selection::Selection;
use crate::views::View;

impl Master {
    /// `0x31`: one page, behind the last server of the page before.
    pub(crate) fn list_steam(
        &mut self,
        now: Moment,
        from: ServerAddr,
        received: usize,
        request: &steam::ListRequest,
    ) {
        self.tally.list_requests += 1;
        let shown = request.filter.challenge().map(u32::from_be_bytes);
        let repeats = |bits: u64| shown == Some(bits as u32);
        let proven = self.cookies.accept(now, Use::List, from.socket(), repeats);
        if !proven && self.settings.legacy_bytes_per_second == 0 {
            return self.cookie_steam(now, from, received);
        }
        let last = self.place_of(request.seed);
        let origin = request.filter.origin();
        let Some(view) = self.view(now, from, &Selection::of_steam(request)) else {
            return;
        };
        let page = view.steam(last, origin);
        if proven || self.take_legacy_budget(now, from, received, page.len()) {
            self.tally.lists += 1;
            self.send(from, page);
        } else {
            self.cookie_steam(now, from, received);
        }
    }

    /// `getservers`, `getserversExt`: all packets at once.
    pub(crate) fn list_quake3(
        &mut self,
        now: Moment,
        from: ServerAddr,
        received: usize,
        request: &quake3::ListRequest,
    ) {
        self.tally.list_requests += 1;
        let shown = request.challenge;
        let repeats = |bits| shown == Some(quake3::ListCookie::from_bits(bits));
        let proven = self.cookies.accept(now, Use::List, from.socket(), repeats);
        if !proven && self.settings.legacy_bytes_per_second == 0 {
            return self.cookie_quake3(now, from, received, request);
        }
        let form = request.reply_form();
        let Some(view) = self.view(now, from, &Selection::of_quake3(request)) else {
            return;
        };
        let packets = view.quake3(form);
        let bytes = packets.iter().map(|packet| packet.len()).sum();
        if proven || self.take_legacy_budget(now, from, received, bytes) {
            self.tally.lists += 1;
            packets
                .iter()
                .for_each(|packet| self.send(from, Payload::clone(packet)));
        } else {
            self.cookie_quake3(now, from, received, request);
        }
    }

    fn cookie_steam(&mut self, now: Moment, from: ServerAddr, received: usize) {
        let bits = self.cookies.make(now, Use::List, from.socket());
        let reply = steam::ListReply::Cookie((bits as u32).to_be_bytes()).emit();
        self.tally.cookies += 1;
        self.answer_unproven(from, received, &reply);
    }

    fn cookie_quake3(
        &mut self,
        now: Moment,
        from: ServerAddr,
        received: usize,
        request: &quake3::ListRequest,
    ) {
        let bits = self.cookies.make(now, Use::List, from.socket());
        let cookie = quake3::ListCookie::from_bits(bits);
        let reply = quake3::ListReply::Cookie(cookie).emit(request.reply_form());
        self.tally.cookies += 1;
        self.answer_unproven(from, received, &reply);
    }

    /// Whether a client that knows no cookies may have so many bytes.
    fn take_legacy_budget(
        &mut self,
        now: Moment,
        from: ServerAddr,
        received: usize,
        bytes: usize,
    ) -> bool {
        let granted = self.legacy.take(now, from.ip(), bytes);
        if granted {
            self.tally.legacy_lists += 1;
            self.tally.unproven_bytes_in += received as u64;
            self.tally.unproven_bytes_out += bytes as u64;
        }
        granted
    }

    /// What a question selects; `None` if this network has asked too many different ones.
    fn view(&mut self, now: Moment, from: ServerAddr, selection: &Selection) -> Option<&mut View> {
        let (shelf, scans, tally) = (&self.shelf, &mut self.scans, &mut self.tally);
        let may_scan = |servers| {
            let granted = scans.take(now, from.ip(), servers);
            tally.unanswered += u64::from(!granted);
            granted
        };
        self.views.get(now, selection, shelf, may_scan)
    }

    /// Where a page's last server stands in the order of lists; `None` for the first page. It may
    /// have gone meanwhile: its address tells its place.
    fn place_of(&self, seed: std::net::SocketAddrV4) -> Option<(u32, ServerAddr)> {
        let addr = ServerAddr::from_socket(seed.into())?;
        let known = self.shelf.get(addr).map(|server| server.origin);
        let origin = known.unwrap_or_else(|| (self.origin_of)(addr.ip()));
        Some(as_order(&Listed { addr, origin }))
    }
}
