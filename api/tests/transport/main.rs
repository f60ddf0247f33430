//! The transport as a client sees it: a real server on a loopback port, with a toy schema behind it.
//!
//! Each module is marked as a test, so that its helpers may unwrap as the tests themselves may.

#[cfg(test)]
mod auth;
#[cfg(test)]
mod bombs;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod http;
#[cfg(test)]
mod masking;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod socket_pressure;
#[cfg(test)]
mod socket_protocol;
#[cfg(test)]
mod socket_session;
#[cfg(test)]
mod world;
