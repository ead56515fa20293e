//! The daemon is killed at every named point and at random moments, and its disk fails: it must
//! neither lose nor double nor invent nor reorder an answer.

#[cfg(test)]
#[path = "../support/almanac.rs"]
mod almanac;
#[cfg(test)]
mod chatter;
#[cfg(test)]
#[expect(dead_code, reason = "the store's tests need sizes, these do not")]
#[path = "../support/dice.rs"]
mod dice;
#[cfg(test)]
mod digests;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod doubt;
#[cfg(test)]
mod drains;
#[cfg(test)]
#[path = "../support/llm_script.rs"]
mod llm_script;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod points;
#[cfg(test)]
mod random_kills;
#[cfg(test)]
#[path = "../support/small_disk.rs"]
mod small_disk;
#[cfg(test)]
#[path = "../support/stage.rs"]
mod stage;
#[cfg(test)]
mod stages;
#[cfg(test)]
mod storm;
