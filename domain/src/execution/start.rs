//! Start.
