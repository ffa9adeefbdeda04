//! By which names the service may be asked.

use std::net::{IpAddr, SocketAddr};

/// On loopback: addresses, `localhost` and names the user gives. A name that somebody else makes point
/// here is not among them. Elsewhere any name, since we do not know ours.
pub(super) struct Hosts(Option<Vec<String>>);

impl Hosts {
    pub(super) fn new(listen: SocketAddr, named: &[String]) -> Self {
        Self(listen.ip().is_loopback().then(|| named.to_vec()))
    }

    /// Whether a `Host` header names us.
    pub(super) fn include(&self, host: &str) -> bool {
        let Some(named) = &self.0 else {
            return true;
        };
        let name = without_port(host);
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        name.parse::<IpAddr>().is_ok() || is("localhost") || named.iter().any(|known| is(known))
    }
}

/// `localhost:8787`, `[::1]:8787`, or the same without a port.
fn without_port(host: &str) -> &str {
    if let Some(literal) = host.strip_prefix('[') {
        return literal.split(']').next().unwrap_or(literal);
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_localhost_and_given_names_are_us() {
        let hosts = Hosts::new("127.0.0.1:0".parse().unwrap(), &["games.lan".to_owned()]);
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8787",
            "[::1]:8787",
            "games.lan",
        ] {
            assert!(hosts.include(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:8787", "", "[evil]"] {
            assert!(!hosts.include(host), "{host}");
        }
    }

    #[test]
    fn elsewhere_any_name_may_be_ours() {
        assert!(Hosts::new("0.0.0.0:0".parse().unwrap(), &[]).include("games.example"));
    }
}
