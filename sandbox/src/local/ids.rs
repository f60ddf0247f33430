//! Random identifiers and tokens.

use std::io;

use data_encoding::HEXLOWER;

/// A version 4 UUID with dashes, the form of sandbox ids.
pub fn uuid() -> io::Result<String> {
    let mut bytes = random::<16>()?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = HEXLOWER.encode(&bytes);
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

/// 32 hex digits, the form of execution, session and request ids.
pub fn hex_id() -> io::Result<String> {
    Ok(HEXLOWER.encode(&random::<16>()?))
}

/// 64 hex digits, the form of a sandbox's access token.
pub fn token() -> io::Result<String> {
    Ok(HEXLOWER.encode(&random::<32>()?))
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}
