//! The OpenSandbox client against servers on loopback that behave, misbehave, and break.

mod commands;
mod files;
mod lifecycle;
mod support;
