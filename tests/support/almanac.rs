//! A stage whose bot has a schedule every ten minutes, and a daemon that starts when it is told.
//!
//! Include it beside `stage`: `#[cfg(test)] #[path = "../support/almanac.rs"] mod almanac;`

use std::fs;
use std::time::Duration;

use larkspur::base::{Clock, SystemClock, Timestamp};

use crate::stage::{Options, PATIENCE, Stage};

const TEN_MINUTES: u64 = 600_000;

/// A stage, the group that the schedule speaks in, and the next of its times.
pub(crate) struct Almanac {
    pub(crate) stage: Stage,
    pub(crate) group: String,
    slot: u64,
}

impl Almanac {
    /// The daemon has seen the schedule and has ended: its next start is told when.
    pub(crate) async fn begun(lines: &str) -> Self {
        let stage = Stage::set(Options::default()).await;
        let group = stage.sim.group("team", &["ann"]).chat_id;
        let file = stage.path("bots/assistant.toml");
        let mut text = fs::read_to_string(&file).unwrap();
        text.push_str(&format!(
            "[[schedules]]\nname = \"news\"\ncron = \"*/10 * * * *\"\ntimezone = \"UTC\"\n\
             chat = \"{group}\"\n{lines}"
        ));
        let url = "knowledge_url = \"https://kb.example.com/{path}\"\nknowledge =";
        fs::write(&file, text.replace("knowledge =", url)).unwrap();
        let now = SystemClock::default().now().as_millis();
        let slot = (now / TEN_MINUTES + 1) * TEN_MINUTES;
        let mut almanac = Self { stage, group, slot };
        almanac.start(-300, &[]).await;
        almanac.logged("a schedule begins").await;
        almanac.stage.kill();
        almanac
    }

    /// Starts the daemon so many seconds behind the present time of the schedule.
    pub(crate) async fn start(&mut self, seconds: i64, environment: &[(&str, &str)]) {
        let now = SystemClock::default().now().as_millis();
        let ahead = i64::try_from(self.slot).unwrap() - i64::try_from(now).unwrap();
        let offset = (ahead + seconds * 1000).to_string();
        let mut all = vec![("LARKSPUR_CLOCK_OFFSET_MS", offset.as_str())];
        all.extend(environment);
        self.stage.launch(&all);
        if environment.is_empty() {
            assert!(self.stage.is_ready().await, "{}", self.stage.epitaph());
        }
    }

    /// Goes on to the next time of the schedule.
    pub(crate) fn next(&mut self) {
        self.slot += TEN_MINUTES;
    }

    /// What `larkspur why` knows the present time's work by.
    pub(crate) fn id(&self) -> String {
        let slot = Timestamp::from_millis(self.slot).to_string().replace(".000Z", "Z");
        format!("schedule-assistant-news-{slot}")
    }

    /// The present time as titles have it.
    pub(crate) fn minute(&self) -> String {
        let slot = Timestamp::from_millis(self.slot).to_string();
        slot.replace('T', " ").chars().take(16).collect()
    }

    /// Writes a recipe.
    pub(crate) fn write(&self, name: &str, title: &str, status: &str) {
        let text = format!("---\ntitle: {title}\nstatus: {status}\n---\n{title} in short.\n");
        fs::write(self.stage.path(&format!("knowledge/{name}.md")), text).unwrap();
    }

    /// What the bot said in the group.
    pub(crate) fn lines(&self) -> Vec<String> {
        let seen = self.stage.sim.visible(&self.group).into_iter();
        seen.filter(|line| line.from_bot && !line.recalled).map(|line| line.text).collect()
    }

    /// Waits until the log says something.
    pub(crate) async fn logged(&self, words: &str) {
        let says = async {
            while !self.stage.log().contains(words) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, says).await.is_ok();
        assert!(in_time, "{words} is not in {}", self.stage.log());
    }
}
