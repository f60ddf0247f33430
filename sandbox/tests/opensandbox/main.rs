//! The OpenSandbox client against servers on loopback that behave, misbehave, and break.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod files;
#[cfg(test)]
mod follow;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod support;
