//! What a bot does by the clock: digests and prompts, each time once.

use std::fs;

use serde_json::Value;

use crate::almanac::Almanac;
use crate::talk::{barrier, bot_lines, text, until};

const DIGEST: &str = "action = \"knowledge_digest\"\n";

fn jobs(almanac: &Almanac) -> Value {
    let output = almanac.stage.cli(&["jobs", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["jobs"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_lists_what_is_new_changed_and_waiting_with_links_and_comes_once() {
    let mut almanac = Almanac::begun(DIGEST).await;
    almanac.write("backup", "Nightly backups", "active");
    almanac.write("draft", "Half an idea", "candidate");
    let deploy = almanac.stage.path("knowledge/deploy.md");
    fs::write(&deploy, "---\nid: deploy\ntitle: Deployment\n---\nNever on Fridays.\n").unwrap();
    almanac.start(-1, &[]).await;
    let id = almanac.id();
    almanac.stage.verdict(&id, "command").await;
    let why = almanac.stage.why(&id);
    let told = "digest news: 1 new, 1 changed, 1 waiting for review";
    assert!(text(&why, "reason").starts_with(told), "{why}");
    assert_eq!(why["message_ids"].as_array().unwrap().len(), 1);
    let lines = almanac.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in [
        &format!("Knowledge digest {}", almanac.minute()),
        "New",
        "Nightly backups",
        "https://kb.example.com/backup.md",
        "Changed",
        "Deployment",
        "https://kb.example.com/deploy.md",
        "Waiting for review",
        "Half an idea",
        "candidate",
        "3 recipes in all.",
    ] {
        assert!(lines[0].contains(part), "{part} is not in {}", lines[0]);
    }
    // Restarts over the same time, and a next time with other news.
    for seconds in [1, 60] {
        almanac.stage.kill();
        almanac.start(seconds, &[]).await;
    }
    assert!(almanac.stage.terminate().await.success());
    almanac.next();
    almanac.write("oncall", "Who is on call", "active");
    almanac.start(-1, &[]).await;
    almanac.stage.verdict(&almanac.id(), "command").await;
    let lines = almanac.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].contains("Who is on call"), "{}", lines[1]);
    assert!(!lines[1].contains("Nightly backups"), "that was told: {}", lines[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_news_nothing_is_posted_unless_the_file_says_so() {
    let mut almanac = Almanac::begun(DIGEST).await;
    almanac.start(-1, &[]).await;
    let id = almanac.id();
    almanac.stage.verdict(&id, "command").await;
    let reason = "digest news: nothing to report, nothing was posted";
    assert_eq!(text(&almanac.stage.why(&id), "reason"), reason);
    barrier(&almanac.stage, "ann", &almanac.group).await;
    assert_eq!(almanac.lines(), ["answer to: the last question"]);

    let mut almanac = Almanac::begun(&format!("{DIGEST}when_empty = \"post\"\n")).await;
    almanac.start(-1, &[]).await;
    almanac.stage.verdict(&almanac.id(), "command").await;
    let lines = almanac.lines();
    assert!(lines.len() == 1 && lines[0].contains("Nothing new."), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_over_a_time_makes_up_for_it_once_or_not_at_all_and_jobs_count_it() {
    let mut almanac = Almanac::begun(DIGEST).await;
    almanac.write("backup", "Nightly backups", "active");
    almanac.next();
    almanac.start(300, &[]).await;
    almanac.stage.verdict(&almanac.id(), "command").await;
    almanac.stage.kill();
    almanac.start(301, &[]).await;
    let slot = almanac.minute().replace(' ', "T");
    until("the time is noted", || jobs(&almanac)["last_run"] != Value::Null).await;
    let job = jobs(&almanac);
    assert_eq!(text(&job, "last_run"), format!("{slot}:00+00:00"));
    assert_eq!((text(&job, "name"), text(&job, "bot")), ("news", "assistant"));
    assert_eq!((job["missed"].as_u64(), job["paused"].as_bool()), (Some(1), Some(false)));
    almanac.next();
    let next = almanac.minute();
    assert_eq!(text(&job, "next_run"), format!("{}:00+00:00", next.replace(' ', "T")));
    let table = almanac.stage.cli(&["jobs"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.starts_with("NAME") && table.contains(&next), "{table}");
    assert_eq!(almanac.lines().len(), 1);

    let skip = "misfire = { policy = \"skip\" }\n";
    let mut almanac = Almanac::begun(&format!("{DIGEST}{skip}")).await;
    almanac.write("backup", "Nightly backups", "active");
    almanac.start(300, &[]).await;
    almanac.logged("times of a schedule passed").await;
    until("it is noted", || jobs(&almanac)["missed"] == 1).await;
    assert_eq!(jobs(&almanac)["last_run"], Value::Null);
    almanac.stage.verdict(&almanac.id(), "never_received").await;
    assert!(almanac.lines().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_what_the_next_digest_will_tell_and_takes_nothing_from_it() {
    let mut almanac = Almanac::begun(DIGEST).await;
    almanac.write("backup", "Nightly backups", "active");
    almanac.start(-300, &[]).await;
    let asked = almanac.stage.sim.asks("ann", &almanac.group, "/digest").unwrap();
    let answer = almanac.stage.answer(&asked).await;
    assert!(answer.contains("Nightly backups"), "{answer}");
    assert!(!answer.contains("deploy"), "that is known: {answer}");
    // Elsewhere no digest is due: what was changed lately.
    let elsewhere = almanac.stage.sim.p2p("ann").chat_id;
    let asked = almanac.stage.sim.says("ann", &elsewhere, "/digest").unwrap();
    let answer = almanac.stage.answer(&asked).await;
    assert!(answer.contains("Changed in the last 7 days"), "{answer}");
    assert!(answer.contains("Nightly backups") && answer.contains("deploy.md"), "{answer}");
    assert_eq!(bot_lines(&almanac.stage, &elsewhere).len(), 1);
    almanac.stage.kill();
    almanac.start(-1, &[]).await;
    almanac.stage.verdict(&almanac.id(), "command").await;
    let lines = almanac.lines();
    assert!(lines.len() == 2 && lines[1].contains("Nightly backups"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_answered_in_its_chat() {
    let prompt = "action = \"prompt\"\nprompt = \"Say good morning.\"\n";
    let mut almanac = Almanac::begun(prompt).await;
    almanac.start(-1, &[]).await;
    almanac.stage.verdict(&almanac.id(), "answered").await;
    assert_eq!(almanac.lines(), ["answer to: Say good morning."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_refuses_ends_in_the_verdict() {
    let mut almanac = Almanac::begun(DIGEST).await;
    almanac.stage.edit_bot(&almanac.group.clone(), "oc_0000000000000000000000000000dead");
    almanac.write("backup", "Nightly backups", "active");
    almanac.start(-1, &[]).await;
    almanac.stage.verdict(&almanac.id(), "failed").await;
    assert!(almanac.lines().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_was_away_for_one_digest_makes_no_news_when_it_comes_back() {
    let mut almanac = Almanac::begun(DIGEST).await;
    let (folder, away) = (almanac.stage.path("knowledge"), almanac.stage.path("away"));
    fs::rename(&folder, &away).unwrap();
    almanac.start(-1, &[]).await;
    almanac.stage.verdict(&almanac.id(), "command").await;
    assert!(almanac.stage.terminate().await.success());
    fs::rename(&away, &folder).unwrap();
    almanac.next();
    almanac.write("oncall", "Who is on call", "active");
    almanac.start(-1, &[]).await;
    almanac.stage.verdict(&almanac.id(), "command").await;
    let lines = almanac.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("Who is on call") && !lines[0].contains("部署"), "{}", lines[0]);
}
