//! The making of one host: namespaces, addresses, routes, NAT rules.

use std::fmt::Write as _;
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::AtomicU32;

use crate::namespace::{Namespace, Prefix};
use crate::nat::{NatBox, Segment};
use crate::{Host, HostSpec, TestnetError, tun};

/// A host that is being made, with all that belongs to it.
pub(crate) struct Site<'a> {
    spec: &'a HostSpec,
    prefix: &'a Prefix,
    address: Ipv4Addr,
    ipv6: Option<Ipv6Addr>,
}

impl<'a> Site<'a> {
    pub(crate) fn new(spec: &'a HostSpec, index: usize, prefix: &'a Prefix) -> Self {
        let number = index as u16;
        let [high, low] = number.to_be_bytes();
        let usual = Ipv4Addr::new(198, 18 + high, low, 1);
        Self {
            spec,
            prefix,
            address: spec.address.unwrap_or(usual),
            ipv6: spec
                .ipv6
                .then(|| Ipv6Addr::new(0x2001, 2, 0, number, 0, 0, 0, 1)),
        }
    }

    /// From the hub to the host: the device, the boxes, the host.
    pub(crate) fn build(self) -> Result<(Host, File), TestnetError> {
        let mut boxes: Vec<NatBox> = Vec::new();
        let mut device = None;
        for (layer, segment) in self.segments().iter().enumerate() {
            boxes.push(self.build_box(layer, *segment, boxes.last(), &mut device)?);
        }
        let namespace = self.namespace(&self.spec.name)?;
        let inside_address = self.attach(&namespace, boxes.last(), &mut device)?;
        if let Some(address) = self.ipv6 {
            namespace.configure(&format!("addr add {address}/128 dev wan nodad\n"))?;
        }
        let host = Host {
            name: self.spec.name.clone(),
            namespace,
            boxes,
            address: self.address,
            inside_address,
            ipv6: self.ipv6,
            network: self.spec.network,
            round: AtomicU32::new(0),
        };
        let device = device.expect("the outermost namespace got a device");
        Ok((host, device))
    }

    /// What lies behind each box, from the hub to the host.
    fn segments(&self) -> &'static [Segment] {
        match self.spec.layers.len() {
            0 => &[],
            1 => &[Segment::HOME],
            _ => &[Segment::CARRIER, Segment::HOME],
        }
    }

    fn build_box(
        &self,
        layer: usize,
        segment: Segment,
        before: Option<&NatBox>,
        device: &mut Option<File>,
    ) -> Result<NatBox, TestnetError> {
        let namespace = self.namespace(&format!("{}-nat{layer}", self.spec.name))?;
        let outside = self.attach(&namespace, before, device)?;
        let made = NatBox {
            namespace,
            // Plans count from the host.
            kind: self.spec.layers[self.spec.layers.len() - 1 - layer],
            outside,
            segment,
            layer: layer as u32,
            lifetime: self.spec.lifetime,
        };
        made.set_up()?;
        Ok(made)
    }

    fn namespace(&self, name: &str) -> Result<Namespace, TestnetError> {
        Namespace::create(format!("{}{name}", self.prefix.text))
    }

    /// Gives a namespace its `wan`: the device of the hub, or a cable to the box before it. Returns
    /// its address there.
    fn attach(
        &self,
        namespace: &Namespace,
        before: Option<&NatBox>,
        device: &mut Option<File>,
    ) -> Result<Ipv4Addr, TestnetError> {
        match before {
            None => {
                *device = Some(self.plug_into_hub(namespace)?);
                Ok(self.address)
            }
            Some(before) => {
                self.plug_into_box(namespace, before)?;
                Ok(before.segment.near_host)
            }
        }
    }

    fn plug_into_hub(&self, namespace: &Namespace) -> Result<File, TestnetError> {
        let device = tun::open(namespace, "wan")?;
        let mut lines = format!(
            "link set lo up
link set wan addrgenmode none txqueuelen 10000 up
addr add {}/32 dev wan
route add default dev wan
",
            self.address
        );
        if self.ipv6.is_some() {
            lines += "route add ::/0 dev wan\n";
        }
        if let Some(network) = self.spec.network {
            // "AnyIP" (ip-route(8)): all of its addresses are this host's.
            let _infallible = writeln!(lines, "route add local {network} dev lo");
        }
        namespace.configure(&lines)?;
        Ok(device)
    }

    /// A veth pair. Its ends have fixed link-local addresses, so that IPv6 can be routed through.
    fn plug_into_box(&self, namespace: &Namespace, before: &NatBox) -> Result<(), TestnetError> {
        let segment = before.segment;
        let mut outer = format!(
            "link add lan type veth peer name wan netns {}
link set lan addrgenmode none up
addr add {}/24 dev lan
",
            namespace.name(),
            segment.near_hub
        );
        let mut inner = format!(
            "link set lo up
link set wan addrgenmode none up
addr add {}/24 dev wan
route add default via {}
",
            segment.near_host, segment.near_hub
        );
        if let Some(host) = self.ipv6 {
            outer += "addr add fe80::1/64 dev lan nodad\n";
            let _infallible = writeln!(outer, "route add {host}/128 via fe80::2 dev lan");
            inner += "addr add fe80::2/64 dev wan nodad\nroute add ::/0 via fe80::1 dev wan\n";
        }
        before.namespace.configure(&outer)?;
        namespace.configure(&inner)
    }
}
