//! The GraphQL layer in process: the real schema over the SQL store on SQLite, without a transport.

#[cfg(test)]
mod access;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod events;
#[cfg(test)]
mod fallbacks;
#[cfg(test)]
mod money;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod sandboxes;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod updates;
#[cfg(test)]
mod world;
