//! The playground against real HTTP: wire format, strictness, pushes, faults, the control API;
//! and the scripted model server that other tests use.

#[cfg(test)]
mod api;
#[cfg(test)]
mod callbacks;
#[cfg(test)]
mod cardkit;
#[cfg(test)]
mod cards;
#[cfg(test)]
mod contact;
#[cfg(test)]
mod control;
#[cfg(test)]
mod crypt;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod limits;
#[cfg(test)]
#[path = "../support/llm_script.rs"]
mod llm_script;
#[cfg(test)]
mod long_connection;
#[cfg(test)]
mod long_connection_faults;
#[cfg(test)]
mod model;
#[cfg(test)]
mod pushes;
#[cfg(test)]
mod raw_socket;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod upkeep;
#[cfg(test)]
mod uploads;
#[cfg(test)]
mod web;
#[cfg(test)]
mod web_path;
