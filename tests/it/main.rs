//! The daemon from outside: the real binary, the playground and the scripted model over real
//! sockets. One file a theme.

#[cfg(test)]
mod admin;
#[cfg(test)]
mod admission;
#[cfg(test)]
mod alerts;
#[cfg(test)]
#[path = "../support/almanac.rs"]
mod almanac;
#[cfg(test)]
mod buttons;
#[cfg(test)]
mod cards;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod code;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod copy_targets;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod engine;
#[cfg(test)]
mod events;
#[cfg(test)]
mod failed;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod init;
#[cfg(test)]
mod joining;
#[cfg(test)]
mod life;
#[cfg(test)]
mod live;
#[cfg(test)]
#[path = "../support/llm_script.rs"]
mod llm_script;
#[cfg(test)]
mod long_connection;
#[cfg(test)]
mod looks;
#[cfg(test)]
mod lookups;
#[cfg(test)]
mod message;
#[cfg(test)]
mod models;
#[cfg(test)]
mod offline;
#[cfg(test)]
mod once;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod platform;
#[cfg(test)]
mod printing;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod recalls;
#[cfg(test)]
mod restored;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod slow;
#[cfg(test)]
#[path = "../support/stage.rs"]
mod stage;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod undelivered;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod verdicts;
#[cfg(test)]
mod ways_out;
#[cfg(test)]
mod webhook;
#[cfg(test)]
mod welcome;
#[cfg(test)]
mod working;
