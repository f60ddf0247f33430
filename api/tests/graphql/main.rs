//! The GraphQL layer in process: the real schema over the SQL store on SQLite, without a transport.

mod access;
mod events;
mod mutations;
mod queries;
mod schema;
mod updates;
mod world;
