//! The openai_compatible adapter against a real server on loopback that sends exact bytes.

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod tls;
