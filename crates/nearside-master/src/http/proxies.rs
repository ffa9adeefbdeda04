//! Who asks through a proxy that the operator runs in front of the master, for TLS say.
//!
//! `X-Forwarded-For` is a list that every proxy adds the address to which it was asked from. Anybody
//! can send one along, so only what trusted proxies added counts: read from its end, the first address
//! that is no trusted proxy's is the visitor. Without trusted proxies the header means nothing.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::HeaderMap;
use nearside_types::Prefix;

/// Networks of proxies whose word is taken.
#[derive(Debug, Clone, Default)]
pub(super) struct Proxies(Arc<[Prefix]>);

const HEADER: &str = "x-forwarded-for";

impl Proxies {
    pub(super) fn new(networks: Vec<Prefix>) -> Self {
        Self(networks.into())
    }

    pub(super) fn trusts(&self, ip: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(ip))
    }

    /// Who asks, where `connected` holds the connection.
    pub(super) fn visitor(&self, connected: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut visitor = connected.to_canonical();
        // Several headers are one list, in their order (RFC 9110, 5.3).
        let lists: Vec<&[u8]> = headers
            .get_all(HEADER)
            .iter()
            .map(axum::http::HeaderValue::as_bytes)
            .collect();
        let hops = lists
            .iter()
            .rev()
            .flat_map(|list| list.rsplit(|byte| *byte == b','));
        for hop in hops {
            if !self.trusts(visitor) {
                break;
            }
            // What cannot be read was not written by a proxy that can be trusted.
            let Some(ip) = read(hop) else { break };
            visitor = ip;
        }
        visitor
    }
}

/// An address; some proxies write the port behind it.
fn read(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?.trim();
    let with_port = || text.parse().ok().map(|addr: SocketAddr| addr.ip());
    let ip: IpAddr = text.parse().ok().or_else(with_port)?;
    Some(ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(trusted: &[&str], connected: &str, lists: &[&str]) -> String {
        let networks = trusted.iter().map(|network| network.parse().unwrap());
        let mut headers = HeaderMap::new();
        for list in lists {
            headers.append(HEADER, list.parse().unwrap());
        }
        let proxies = Proxies::new(networks.collect());
        let visitor = proxies.visitor(connected.parse().unwrap(), &headers);
        visitor.to_string()
    }

    #[test]
    fn a_trusted_proxy_says_who_asks() {
        let trusted = ["127.0.0.1/32", "10.0.0.0/8"];
        for (lists, expected) in [
            (&["192.0.2.7"][..], "192.0.2.7"),
            (&["192.0.2.7:4711"], "192.0.2.7"),
            (&["[2001:db8::1]:4711"], "2001:db8::1"),
            (&["::ffff:192.0.2.7"], "192.0.2.7"),
            (&["192.0.2.7, 10.1.1.1"], "192.0.2.7"),
            (&["192.0.2.7", "10.1.1.1"], "192.0.2.7"),
            (&[], "127.0.0.1"),
        ] {
            assert_eq!(visitor(&trusted, "127.0.0.1", lists), expected, "{lists:?}");
        }
    }

    #[test]
    fn nobody_else_can_pretend_to_be_another() {
        let trusted = ["127.0.0.1/32"];
        let victim = "198.51.100.9";
        // By asking the master directly.
        assert_eq!(visitor(&trusted, "192.0.2.7", &[victim]), "192.0.2.7");
        assert_eq!(visitor(&[], "127.0.0.1", &[victim]), "127.0.0.1");
        // By sending a list to the proxy, which adds the true address behind it.
        let forged = format!("{victim}, 192.0.2.7");
        assert_eq!(visitor(&trusted, "127.0.0.1", &[&forged]), "192.0.2.7");
        assert_eq!(
            visitor(&trusted, "127.0.0.1", &[victim, "192.0.2.7"]),
            "192.0.2.7"
        );
        // By naming the proxy itself before.
        let forged = format!("{victim}, 127.0.0.1, 192.0.2.7");
        assert_eq!(visitor(&trusted, "127.0.0.1", &[&forged]), "192.0.2.7");
        // By something that is no address.
        let unread = format!("{victim}, unknown");
        assert_eq!(visitor(&trusted, "127.0.0.1", &[&unread]), "127.0.0.1");
    }
}
