//! The OpenSandbox client against servers on loopback that behave, misbehave, and break.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod exact;
#[cfg(test)]
mod files;
#[cfg(test)]
mod follow;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod managed;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod safety;
#[cfg(test)]
mod standstill;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;
#[cfg(test)]
mod versions;
