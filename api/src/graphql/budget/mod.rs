//! Budget accounts: money and tokens that an agent, a project or the tenant may use in a period.

mod input;
mod mutation;
mod object;
mod query;

pub use input::warning_levels;
pub use mutation::BudgetMutation;
pub use object::{BudgetLimit, BudgetSource};
pub use query::BudgetQuery;
