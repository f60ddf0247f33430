//! The SQL store and the directories, held against the contracts of their ports, on SQLite and on a real MariaDB.

#[cfg(test)]
mod artifacts;
#[cfg(test)]
mod budget_race;
#[cfg(test)]
mod contracts;
#[cfg(test)]
mod costs;
#[cfg(test)]
mod lockstep;
#[cfg(test)]
mod mariadb;
#[cfg(test)]
mod migrations_run;
#[cfg(test)]
mod racer;
#[cfg(test)]
mod random;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod sandbox_records;
#[cfg(test)]
mod world;
#[cfg(test)]
mod writers;
