//! A host's line to the hub: a TUN device whose other end is a file of this process.
//!
//! TUN and not a veth pair, because it speaks IP: no ARP, no checksums left to hardware that is not
//! there, and the device is gone when the process is.

use std::fs::{File, OpenOptions};

use crate::namespace::Namespace;
use crate::{TestnetError, tools};

/// Gives the open file on standard input a device (`TUNSETIFF` with `IFF_TUN | IFF_NO_PI`; see the
/// kernel's networking/tuntap.rst). The call acts on the open file and not on the process, so
/// somebody who may call `ioctl` without `unsafe` does it for us; Perl is part of every Debian.
const ATTACH: &str = r#"
my $request = pack("a16 S x22", $ARGV[0], 0x1001);
ioctl(STDIN, 0x400454CA, $request) or die "TUNSETIFF: $!\n";
"#;

/// Makes the device `name` in the namespace. The file reads and writes one packet at a time and
/// never blocks.
pub(crate) fn open(namespace: &Namespace, name: &str) -> Result<File, TestnetError> {
    // The device belongs to the namespace of the thread that opens the file.
    let open = || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun")
    };
    let file = namespace
        .inside(open)?
        .map_err(TestnetError::io("open /dev/net/tun"))?;
    let shared = file
        .try_clone()
        .map_err(TestnetError::io("share a TUN device"))?;
    attach(shared, name)?;
    rustix::io::ioctl_fionbio(&file, true).map_err(TestnetError::io("set up a TUN device"))?;
    Ok(file)
}

fn attach(device: File, name: &str) -> Result<(), TestnetError> {
    let mut perl = tools::command("perl");
    let output = perl
        .args(["-e", ATTACH, name])
        .stdin(device)
        .output()
        .map_err(TestnetError::io("run perl"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(TestnetError::Program {
        program: "perl, which attaches a TUN device,".to_owned(),
        words: words.trim().to_owned(),
    })
}
