//! Asking servers that speak A2S whether they are still there.
//!
//! A2S has no word of ours that a server would repeat. So these questions leave from a port of their
//! own, whose number somebody who forges an answer would have to guess, and answers count only from
//! those who were asked, for three seconds. That is too little to register a server, and enough to
//! believe that one which registered is still there.

use nearside_types::{Moment, ServerAddr};
use nearside_wire::a2s::{Info, Request, Response};

use crate::master::Master;
use crate::server::{Facts, Server, Standing};
use crate::told::Event;

/// A question that is out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) at: Moment,
    /// Challenges that will still be repeated.
    challenges: u8,
}

/// Servers may challenge more than once; without an end they would make us a reflector.
const MOST_CHALLENGES: u8 = 3;

impl Master {
    pub(crate) fn ask_a2s(&mut self, now: Moment, addr: ServerAddr) {
        self.tally.checks += 1;
        let asked = Asked {
            at: now,
            challenges: MOST_CHALLENGES,
        };
        self.asked.insert(addr, asked);
        self.ask(addr, Request::Info { challenge: None }.emit());
    }

    /// A datagram arrived at the port for questions.
    pub fn handle_answer(&mut self, now: Moment, from: std::net::SocketAddr, payload: &[u8]) {
        let from = ServerAddr::from_socket(from);
        let Some(from) = from.filter(|from| self.asked.contains_key(from)) else {
            return;
        };
        match Response::parse(payload) {
            Ok(Response::Challenge(challenge)) => {
                let asked = self.asked.get_mut(&from).expect("looked up above");
                if asked.challenges > 0 {
                    asked.challenges -= 1;
                    let challenge = Some(challenge);
                    self.ask(from, Request::Info { challenge }.emit());
                }
            }
            Ok(Response::Info(info)) => {
                self.asked.remove(&from);
                self.is_there(now, from, &info);
            }
            _ => {}
        }
    }

    fn is_there(&mut self, now: Moment, addr: ServerAddr, info: &Info) {
        let Some(before) = self.shelf.get(addr) else {
            return;
        };
        let facts = Facts::from_a2s(info, &before.facts);
        if before.standing == Standing::Followed {
            return self.learn(addr, |_| Some(facts));
        }
        let server = Server {
            standing: Standing::Verified,
            expires: now + self.settings.timeout(),
            facts,
            ..before.clone()
        };
        self.replace(server.clone());
        self.shelf.is_told(addr);
        self.emit(Event::Put {
            server,
            is_new: false,
        });
    }
}
