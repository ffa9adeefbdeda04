//! A NAT box: a namespace between its host and the hub, whose rules are the kernel's own NAT.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::namespace::Namespace;
use crate::{TestnetError, conntrack};

/// How a NAT maps and filters UDP, in the words of RFC 3489 section 5 and RFC 4787.
///
/// All kinds drop what comes from outside and was not asked for. Outside ports always differ from
/// inside ones, so a program that announces its own port is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nat {
    /// One outside port for all destinations; once it exists, anybody may answer.
    FullCone,
    /// One outside port for all destinations; addresses that were written to may answer.
    AddressRestricted,
    /// One outside port for all destinations; an address and port that was written to may answer.
    PortRestricted,
    /// Another outside port for each destination, which alone may answer.
    Symmetric,
}

impl Nat {
    /// Every kind.
    pub const ALL: [Self; 4] = [
        Self::FullCone,
        Self::AddressRestricted,
        Self::PortRestricted,
        Self::Symmetric,
    ];
}

/// The link between two neighbours on the way from the hub to a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) near_hub: Ipv4Addr,
    pub(crate) near_host: Ipv4Addr,
}

impl Segment {
    /// The same in every home, as in life.
    pub(crate) const HOME: Self = Self {
        near_hub: Ipv4Addr::new(192, 168, 1, 1),
        near_host: Ipv4Addr::new(192, 168, 1, 2),
    };
    /// Between a carrier's NAT and a home's (RFC 6598).
    pub(crate) const CARRIER: Self = Self {
        near_hub: Ipv4Addr::new(100, 64, 0, 1),
        near_host: Ipv4Addr::new(100, 64, 0, 2),
    };
}

/// A box with its two sides.
#[derive(Debug)]
pub(crate) struct NatBox {
    pub(crate) namespace: Namespace,
    pub(crate) kind: Nat,
    /// Its own address on the outside.
    pub(crate) outside: Ipv4Addr,
    /// The cable to whoever is behind it.
    pub(crate) segment: Segment,
    /// Which layer it is, counted from the hub.
    pub(crate) layer: u32,
    /// How long it remembers what is silent.
    pub(crate) lifetime: Duration,
}

impl NatBox {
    /// Makes a router of the namespace, with its first rules.
    pub(crate) fn set_up(&self) -> Result<(), TestnetError> {
        let lifetime = self.lifetime.as_secs().to_string();
        self.load(0)?;
        for (setting, value) in [
            ("netfilter/nf_conntrack_udp_timeout", &lifetime[..]),
            ("netfilter/nf_conntrack_udp_timeout_stream", &lifetime),
            ("ipv4/ip_forward", "1"),
            ("ipv6/conf/all/forwarding", "1"),
        ] {
            self.namespace.set(setting, value)?;
        }
        Ok(())
    }

    /// Loads the rules; another `round` means other outside ports.
    fn load(&self, round: u32) -> Result<(), TestnetError> {
        self.namespace.filter(&self.script(round))
    }

    /// Forgets all mappings and goes on with other ports, as after a restart.
    pub(crate) fn rebind(&self, round: u32) -> Result<(), TestnetError> {
        self.load(round)?;
        conntrack::forget(&self.namespace)
    }

    fn script(&self, round: u32) -> String {
        let (mapping, answers) = (self.mapping(round), self.answers(round));
        format!(
            "flush ruleset
table inet guard {{
    chain forward {{
        type filter hook forward priority filter; policy drop
        iifname lan accept
        ct state established,related accept
        ct status dnat accept
    }}
    chain input {{
        type filter hook input priority filter; policy drop
        iifname != wan accept
        ct state established,related accept
        icmpv6 type {{ nd-neighbor-solicit, nd-neighbor-advert }} accept
    }}
}}
table ip nat {{
    chain out {{
        type nat hook postrouting priority srcnat
        oifname wan meta l4proto udp {mapping}
        oifname wan masquerade
    }}
{answers}
}}
"
        )
    }

    /// Which outside port a flow gets. The kernel would keep the inside port if it could and draws
    /// one otherwise, for each destination anew; flipping some bits gives another port that is the
    /// same for all destinations and no other flow's.
    fn mapping(&self, round: u32) -> String {
        match self.kind {
            Nat::Symmetric => "masquerade fully-random".to_owned(),
            _ => format!(
                "snat to {}:udp sport ^ {}",
                self.outside,
                self.flipped(round)
            ),
        }
    }

    /// Who but the partner of a flow may answer: the kernel admits nobody else, so cones remember
    /// outside ports, and whom they wrote to, for as long as the kernel remembers a flow.
    fn answers(&self, round: u32) -> String {
        let (kind, sent, received) = match self.kind {
            Nat::FullCone => ("inet_service", "udp sport", "udp dport"),
            Nat::AddressRestricted => (
                "ipv4_addr . inet_service",
                "ip daddr . udp sport",
                "ip saddr . udp dport",
            ),
            Nat::PortRestricted | Nat::Symmetric => return String::new(),
        };
        let (inside, flipped) = (self.segment.near_host, self.flipped(round));
        let lifetime = self.lifetime.as_secs();
        format!(
            "    set mapped {{
        type {kind}
        flags dynamic,timeout
        timeout {lifetime}s
    }}
    chain remember {{
        type filter hook postrouting priority srcnat + 10
        oifname wan meta l4proto udp update @mapped {{ {sent} }}
    }}
    chain in {{
        type nat hook prerouting priority dstnat
        iifname wan {received} @mapped dnat to {inside}:udp dport ^ {flipped}
    }}"
        )
    }

    /// The bits between inside and outside ports: five for each layer, so that layers never undo
    /// each other's, and never the upper six, so that no port becomes a privileged one.
    fn flipped(&self, round: u32) -> u32 {
        (round % 31 + 1) << (5 * self.layer)
    }
}
