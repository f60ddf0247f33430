//! The openai_compatible adapter against a real server on loopback that sends exact bytes.

mod fixtures;
mod limits;
mod provider;
mod refusals;
mod requests;
mod streams;
