//! Stop an execution.
