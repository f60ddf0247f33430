//! The conformance suite: what an OpenSandbox server must do for the client, row by row of the protocol's checklist.
//!
//! Without settings it starts the local runtime and drives that; `VITRINE_TEST_OPENSANDBOX_URL` points it at any other
//! server (see [`target`]). A row that the target cannot show is listed with the reason, never passed; a run that
//! executed no row fails. docs/sandbox-compatibility.md says which server showed which rows.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod control;
#[cfg(test)]
mod endpoints;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod files;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
#[path = "../local_support/mod.rs"]
mod local_support;
#[cfg(test)]
mod network;
#[cfg(test)]
mod pattern;
#[cfg(test)]
mod raw;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod target;

fn main() -> std::process::ExitCode {
    harness::main()
}
