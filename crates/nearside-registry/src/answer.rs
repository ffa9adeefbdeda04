//! List requests: a cookie first, then the list.
//!
//! Most requests for Steam pages repeat, cookie aside, what somebody asked within the last second;
//! they are answered without being read, see [`Master::page_again`].

use nearside_types::{Moment, ServerAddr};
use nearside_wire::list::{Listed, as_order};
use nearside_wire::{quake3::master as quake3, steam};

use crate::cookie::Use;
use crate::master::Master;
use crate::payload::Payload;
use crate::scans::{Asker, Scan};
use crate::selection::Selection;
use crate::views::View;

impl Master {
    /// `0x31`: one page, behind the last server of the page before.
    pub(crate) fn list_steam(
        &mut self,
        now: Moment,
        from: ServerAddr,
        payload: &[u8],
        request: &steam::ListRequest,
    ) {
        self.tally.list_requests += 1;
        let received = payload.len();
        let shown = request.filter.challenge().map(u32::from_be_bytes);
        let repeats = |bits: u64| shown == Some(bits as u32);
        let proven = self.cookies.accept(now, Use::List, from.socket(), repeats);
        if !proven && !self.legacy.has(now, from.ip(), received) {
            return self.cookie_steam(now, from, received);
        }
        let last = self.place_of(request.seed);
        let origin = request.filter.origin();
        let selection = Selection::of_steam(request);
        let asker = self.asker(from, proven);
        let Some(view) = self.view(now, asker, &selection) else {
            return match proven {
                true => self.tally.unanswered += 1,
                false => self.cookie_steam(now, from, received),
            };
        };
        let page = view.steam(last, origin);
        if let Some((question, _)) = split_cookie(payload).filter(|_| proven) {
            self.views.prepare(question, &selection, &page);
        }
        if proven {
            self.send_list(now, from, std::slice::from_ref(&page));
        } else if self.take_legacy_budget(now, from, received, page.len()) {
            self.tally.lists += 1;
            self.send(from, page);
        } else {
            self.cookie_steam(now, from, received);
        }
    }

    /// A `0x31` that somebody proven asked before in the same bytes: the prepared page, for whoever
    /// repeats a cookie of its own. `false` if the request has to be read.
    pub(crate) fn page_again(&mut self, now: Moment, from: ServerAddr, payload: &[u8]) -> bool {
        let Some((question, cookie)) = split_cookie(payload) else {
            return false;
        };
        let Some(page) = self.views.prepared(now, question, &self.shelf) else {
            return false;
        };
        let repeats = |bits: u64| cookie == bits as u32;
        if !self.cookies.accept(now, Use::List, from.socket(), repeats) {
            return false;
        }
        self.tally.list_requests += 1;
        self.send_list(now, from, &[page]);
        true
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
        if !proven && !self.legacy.has(now, from.ip(), received) {
            return self.cookie_quake3(now, from, received, request);
        }
        let form = request.reply_form();
        let asker = self.asker(from, proven);
        let Some(view) = self.view(now, asker, &Selection::of_quake3(request)) else {
            return match proven {
                true => self.tally.unanswered += 1,
                false => self.cookie_quake3(now, from, received, request),
            };
        };
        let packets = view.quake3(form);
        let bytes = packets.iter().map(|packet| packet.len()).sum();
        if proven {
            self.send_list(now, from, &packets);
        } else if self.take_legacy_budget(now, from, received, bytes) {
            self.tally.lists += 1;
            packets
                .iter()
                .for_each(|packet| self.send(from, Payload::clone(packet)));
        } else {
            self.cookie_quake3(now, from, received, request);
        }
    }

    /// Sends a list to a client that has proven its address, unless its network and then it has had
    /// too much.
    fn send_list(&mut self, now: Moment, to: ServerAddr, packets: &[Payload]) {
        let bytes = packets.iter().map(|packet| packet.len()).sum();
        if !self.lists.take_proven(now, to.ip(), bytes) && self.is_capped(to) {
            self.tally.unanswered += 1;
            return;
        }
        self.tally.lists += 1;
        for packet in packets {
            self.send(to, Payload::clone(packet));
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

    fn asker(&self, from: ServerAddr, proven: bool) -> Asker {
        match proven {
            true if self.is_capped(from) => Asker::Proven(from.ip()),
            true => Asker::Uncapped,
            false => Asker::Unproven,
        }
    }

    fn is_capped(&self, client: ServerAddr) -> bool {
        let origin = (self.origin_of)(client.ip());
        !self.settings.is_uncapped(client.ip(), origin.asn)
    }

    /// What a question selects; `None` if it is new, and too many others are.
    fn view(&mut self, now: Moment, asker: Asker, selection: &Selection) -> Option<&mut View> {
        let (shelf, scans, tally) = (&self.shelf, &mut self.scans, &mut self.tally);
        let may_scan = |scan: Scan| {
            let granted = scans.take(now, asker, scan);
            tally.scans_refused += u64::from(!granted);
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

const LIST: u8 = 0x31;
const COOKIE: &[u8] = b"\\challenge\\";
const DIGITS: usize = 8;

/// A `0x31` as [`steam::Filter::with_challenge`] writes it, with the cookie behind all else: what it
/// asks, and the cookie. Whatever stands before the cookie says the same to every client.
fn split_cookie(payload: &[u8]) -> Option<(&[u8], u32)> {
    let text = payload.strip_suffix(b"\0")?;
    let (text, digits) = text.split_at_checked(text.len().checked_sub(DIGITS)?)?;
    let question = text.strip_suffix(COOKIE)?;
    if question.first() != Some(&LIST) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    Some((question, u32::from_str_radix(digits, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_split_where_the_codec_puts_the_cookie() {
        let filter = steam::Filter::parse(b"\\gamedir\\cstrike").unwrap();
        let request = |filter| steam::ListRequest::new(filter).emit();
        let with_cookie = request(filter.clone().with_challenge([0x0A, 8, 0x5E, 0xEA]));
        let (question, cookie) = split_cookie(&with_cookie).unwrap();
        assert_eq!(cookie, 0x0A08_5EEA);
        assert_eq!(
            question,
            request(filter.clone()).strip_suffix(b"\0").unwrap()
        );
        for other in [
            request(filter.clone()),
            request(filter.with_challenge([1; 4]).with("map", "x")),
            b"\\challenge\\0a085eea\0".to_vec(),
            b"1\xFF0.0.0.0:0\0\\challenge\\+a085eea\0".to_vec(),
            b"\0".to_vec(),
        ] {
            assert_eq!(split_cookie(&other), None, "{other:?}");
        }
    }
}
