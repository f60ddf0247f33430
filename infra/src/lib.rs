//! Adapters for the ports of `domain`: what turns rules into rows, files, bytes and requests.
//!
//! [`sql`] keeps everything that must survive, [`artifact_dir`] the bytes of files, [`secret`] seals credentials,
//! [`clock`] reads time and randomness, [`data_dir`] makes sure that one process owns a data directory. [`model`] speaks
//! to providers, over [`http`] and [`sse`]. No type of a driver or vendor gets past this crate.

pub mod artifact_dir;
mod artifact_draft;
pub mod clock;
pub mod data_dir;
pub mod http;
pub mod model;
pub mod secret;
pub mod sql;
pub mod sse;
