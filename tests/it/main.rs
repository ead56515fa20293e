//! The daemon from outside: the real binary, the playground and the scripted model over real
//! sockets. One file a theme.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod life;
#[cfg(test)]
#[path = "../support/llm_script.rs"]
mod llm_script;
#[cfg(test)]
mod message;
#[cfg(test)]
mod platform;
#[cfg(test)]
mod slow;
#[cfg(test)]
#[path = "../support/stage.rs"]
mod stage;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod working;
