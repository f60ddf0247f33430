//! A PriceTable is a project's list of what models cost: a line says the prices of one model from one moment on.
//!
//! A line is stored as an immutable version. A model that carries no price of its own takes the version that is in force
//! when an execution starts, and the execution pins it, so that what is imported later changes no cost. A file is
//! imported as a whole or not at all. Decimals are read exactly, digit by digit, and never become a float.

mod file;
mod import;
mod model;
mod ports;

pub use file::{MOST_BYTES, MOST_LINES, read_price_file};
pub use import::{ImportPorts, Imported, import};
pub use model::{ModelName, ModelPrice, PriceLine, audit_record};
pub use ports::PriceStore;

#[cfg(test)]
mod tests;
