//! The SQL store and the directories, held against the contracts of their ports, on SQLite and on a real MariaDB.

mod artifacts;
mod contracts;
mod lockstep;
mod mariadb;
mod migrations_run;
mod random;
mod world;
mod writers;
