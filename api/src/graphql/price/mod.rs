//! Price tables: what models cost in a project, from which moment on.

mod mutation;
mod object;
mod query;

pub use mutation::PriceMutation;
pub use query::PriceQuery;
