//! Which addresses are the public network. Everything else is closed to every sandbox.
//!
//! Rule: there is one table. The local runtime's proxy asks it; a policy that another server keeps is written from it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First address and prefix length of each IPv4 range that is not the public internet.
const CLOSED: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Carriers' own; Alibaba's metadata service lies in it.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local; the metadata services of most clouds.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    // Oracle's metadata service lies in it.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // The host agent of Azure's machines has a public address.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Multicast, then reserved and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// All of IPv6 but its public range, 2000::/3.
const NOT_GLOBAL_V6: [(Ipv6Addr, u32); 3] = [
    (Ipv6Addr::UNSPECIFIED, 3),
    (Ipv6Addr::new(0x4000, 0, 0, 0, 0, 0, 0, 0), 2),
    (Ipv6Addr::new(0x8000, 0, 0, 0, 0, 0, 0, 0), 1),
];

/// What within that range is not the public network: protocol assignments, documentation, 6to4.
const CLOSED_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// The prefix under which translators show IPv4 addresses as IPv6 ones.
const NAT64: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);

pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !CLOSED.iter().any(|(base, bits)| is_within(address.into(), (*base).into(), *bits)),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public(inner.into()),
            None => !closed_v6().any(|(base, bits)| is_within(address.into(), base.into(), bits)),
        },
    }
}

/// What is closed, as blocks. IPv4 written as IPv6 is closed as a whole here, since a block cannot tell what it stands for.
pub fn closed_blocks() -> impl Iterator<Item = String> {
    let v4 = CLOSED.iter().map(|(base, bits)| format!("{base}/{bits}"));
    v4.chain(closed_v6().map(|(base, bits)| format!("{base}/{bits}")))
}

fn closed_v6() -> impl Iterator<Item = (Ipv6Addr, u32)> {
    NOT_GLOBAL_V6.into_iter().chain(CLOSED_V6)
}

/// Whether `address` begins with the first `bits` of `base`.
pub fn is_within(address: IpAddr, base: IpAddr, bits: u32) -> bool {
    let differing = match (address, base) {
        (IpAddr::V4(address), IpAddr::V4(base)) => (address.to_bits() ^ base.to_bits()).leading_zeros(),
        (IpAddr::V6(address), IpAddr::V6(base)) => (address.to_bits() ^ base.to_bits()).leading_zeros(),
        _ => return false,
    };
    differing >= bits
}

/// The IPv4 address that an IPv6 address stands for.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let is_translated = is_within(address.into(), NAT64.into(), 96);
    address.to_ipv4_mapped().or_else(|| {
        let [.., a, b, c, d] = address.octets();
        is_translated.then(|| Ipv4Addr::new(a, b, c, d))
    })
}
