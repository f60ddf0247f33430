//! The scripted model, asked by the adapter that asks real providers.

#[cfg(test)]
mod built_in;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod server;
#[cfg(test)]
mod stage;
