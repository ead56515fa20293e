//! Bug reports of others, fed to the running daemon from outside. One file a component; each test
//! is named after its case.

#[cfg(test)]
mod config;
#[cfg(test)]
mod dedup;
#[cfg(test)]
mod links;
#[cfg(test)]
mod parse;
#[cfg(test)]
mod render;
#[cfg(test)]
mod send;
#[cfg(test)]
mod transport;
