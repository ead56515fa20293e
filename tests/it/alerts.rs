//! Alertmanager's calls: one message shows a group until all of it is resolved, whatever happens to
//! the platform, the message and the process in between.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use larkspur::net::read_capped;
use larkspur::playground::{Endpoint, FaultAction, FaultRule};
use serde_json::{Value, json};

use crate::stage::{Options, PATIENCE, Stage, http};
use crate::talk::{bot_lines, until};

const SECRET: &str = "a-hook-secret";

/// Members of a group: the status and the instance of each.
type Members<'a> = [(&'a str, &'a str)];

pub(crate) const BOTH_FIRE: [(&str, &str); 2] = [("firing", "a"), ("firing", "b")];
pub(crate) const ONE_FIRES: [(&str, &str); 2] = [("resolved", "a"), ("firing", "b")];
pub(crate) const NONE_FIRES: [(&str, &str); 2] = [("resolved", "a"), ("resolved", "b")];
pub(crate) const SAID_BOTH: &str =
    "**Disk**: 2 firing\n\n**Firing**\n- `instance=a`\n- `instance=b`";
pub(crate) const SAID_ONE: &str =
    "**Disk**: 1 firing, 1 resolved\n\n**Firing**\n- `instance=b`\n\n**Resolved**\n- `instance=a`";
pub(crate) const SAID_NONE: &str =
    "**Disk**: all resolved (2)\n\n**Resolved**\n- `instance=a`\n- `instance=b`";

/// A stage that Alertmanager posts into a group of, not started, and that group.
pub(crate) async fn alert_stage() -> (Stage, String) {
    let stage = Stage::set(Options { main: "#HOOKS".to_owned(), ..Options::default() }).await;
    let chat = stage.sim.group("ops", &["ann"]).chat_id;
    let file = stage.path("config/larkspur.toml");
    let hook = format!(
        "[[hooks]]\nname = \"alerts\"\npreset = \"alertmanager\"\nbot = \"assistant\"\n\
         secret = \"file:hook-secret\"\nchat = \"{chat}\"\n"
    );
    let text = std::fs::read_to_string(&file).unwrap().replace("#HOOKS", "");
    std::fs::write(file, format!("{text}\n{hook}")).unwrap();
    std::fs::write(stage.path("hook-secret"), SECRET).unwrap();
    (stage, chat)
}

fn body(name: &str, members: &Members<'_>) -> String {
    let is_firing = members.iter().any(|(status, _)| *status == "firing");
    let member = |(number, (status, instance)): (usize, &(&str, &str))| {
        json!({
            "status": status, "labels": {"instance": instance}, "fingerprint": number.to_string(),
        })
    };
    let body = json!({
        "status": if is_firing { "firing" } else { "resolved" },
        "groupKey": format!("{{}}:{{alertname=\"{name}\"}}"),
        "groupLabels": {"alertname": name},
        "alerts": members.iter().enumerate().map(member).collect::<Vec<_>>(),
    });
    body.to_string()
}

/// Posts; `None`: the daemon died of it.
async fn called(stage: &Stage, name: &str, members: &Members<'_>) -> Option<Value> {
    let call = http().post(stage.url("/hooks/alerts")).bearer_auth(SECRET);
    let response = call.body(body(name, members)).send().await.ok()?;
    assert_eq!(response.status(), 202);
    let body = read_capped(response, 1 << 20).await.ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

/// Posts the state of the group `Disk`. Returns the id of the call.
async fn posted(stage: &Stage, members: &Members<'_>) -> String {
    let answer = called(stage, "Disk", members).await.expect("an answer");
    assert_eq!(answer["duplicate"], false);
    answer["id"].as_str().unwrap().to_owned()
}

/// Posts the state of the group `Disk`, and waits until it is told.
pub(crate) async fn alerted(stage: &Stage, members: &Members<'_>) {
    let id = posted(stage, members).await;
    stage.verdict(&id, "answered").await;
}

async fn started() -> (Stage, String) {
    let (mut stage, chat) = alert_stage().await;
    stage.start(&[]).await;
    (stage, chat)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_group_has_a_message_of_its_own() {
    let (stage, chat) = started().await;
    alerted(&stage, &BOTH_FIRE).await;
    let other = called(&stage, "Net", &BOTH_FIRE).await.unwrap();
    stage.verdict(other["id"].as_str().unwrap(), "answered").await;
    alerted(&stage, &ONE_FIRES).await;
    assert_eq!(bot_lines(&stage, &chat), [SAID_ONE, &SAID_BOTH.replace("Disk", "Net")]);
    assert_eq!(stage.sim.calls(Endpoint::Send).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_over_once_more_makes_no_message() {
    let (stage, chat) = started().await;
    alerted(&stage, &BOTH_FIRE).await;
    alerted(&stage, &NONE_FIRES).await;
    // Behind another body the same one is no repetition.
    let other = called(&stage, "Net", &NONE_FIRES).await.unwrap();
    stage.verdict(other["id"].as_str().unwrap(), "answered").await;
    alerted(&stage, &NONE_FIRES).await;
    assert_eq!(bot_lines(&stage, &chat), [SAID_NONE, &SAID_NONE.replace("Disk", "Net")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_waits_for_the_message_that_is_to_show_it() {
    let (stage, chat) = started().await;
    let broken = FaultAction::Refuse { status: 500, code: 0, reset_s: None };
    stage.sim.fault(FaultRule::next(Endpoint::Send, 2, broken));
    posted(&stage, &BOTH_FIRE).await;
    posted(&stage, &ONE_FIRES).await;
    let last = posted(&stage, &NONE_FIRES).await;
    stage.verdict(&last, "answered").await;
    assert_eq!(bot_lines(&stage, &chat), [SAID_NONE]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_gone_or_too_old_is_made_anew_once() {
    let (stage, chat) = started().await;
    alerted(&stage, &BOTH_FIRE).await;
    let first = stage.sim.visible(&chat).last().unwrap().message_id.clone();
    stage.sim.recalls(&first).unwrap();
    alerted(&stage, &ONE_FIRES).await;
    alerted(&stage, &BOTH_FIRE).await;
    assert_eq!(bot_lines(&stage, &chat), [SAID_BOTH], "the second message goes on");
    stage.sim.advance(Duration::from_secs(15 * 24 * 3600));
    alerted(&stage, &ONE_FIRES).await;
    alerted(&stage, &NONE_FIRES).await;
    assert_eq!(bot_lines(&stage, &chat), [SAID_BOTH, SAID_NONE]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_fails_for_a_while_shows_the_last_state_in_the_end() {
    let (stage, chat) = started().await;
    alerted(&stage, &BOTH_FIRE).await;
    let broken = FaultAction::Refuse { status: 500, code: 0, reset_s: None };
    stage.sim.fault(FaultRule::next(Endpoint::ChangeCard, 2, broken));
    posted(&stage, &ONE_FIRES).await;
    alerted(&stage, &NONE_FIRES).await;
    assert_eq!(bot_lines(&stage, &chat), [SAID_NONE]);
    assert_eq!(stage.sim.calls(Endpoint::Send).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_changed_in_its_form_is_said_each_time() {
    let (mut stage, chat) = alert_stage().await;
    stage.edit_bot("[lark]", "[lark]\nrender = \"text\"");
    stage.start(&[]).await;
    alerted(&stage, &BOTH_FIRE).await;
    alerted(&stage, &ONE_FIRES).await;
    assert_eq!(bot_lines(&stage, &chat), [SAID_BOTH, SAID_ONE]);
}

/// Kills a daemon at `point` while it takes `members`, and lets it go on.
async fn killed(stage: &mut Stage, point: &str, members: &Members<'_>) {
    stage.start(&[("LARKSPUR_FAULT", point)]).await;
    drop(called(stage, "Disk", members).await);
    let status = stage.ended(PATIENCE).await.expect("the point is reached");
    assert_eq!(status.signal(), Some(9), "{point}");
    stage.start(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_point_makes_no_second_message_and_loses_no_state() {
    for point in ["accept.after_commit", "send.before", "send.after", "close.before", "close.after"]
    {
        let (mut stage, chat) = alert_stage().await;
        killed(&mut stage, point, &BOTH_FIRE).await;
        until("the first state", || bot_lines(&stage, &chat) == [SAID_BOTH]).await;
        alerted(&stage, &ONE_FIRES).await;
        assert_eq!(bot_lines(&stage, &chat), [SAID_ONE], "{point}");
        stage.signal("KILL");
        stage.ended(PATIENCE).await.unwrap();
        killed(&mut stage, point, &NONE_FIRES).await;
        until("the last state", || bot_lines(&stage, &chat) == [SAID_NONE]).await;
        alerted(&stage, &[("firing", "c")]).await;
        let anew = "**Disk**: 1 firing\n\n**Firing**\n- `instance=c`";
        assert_eq!(bot_lines(&stage, &chat), [SAID_NONE, anew], "{point}");
    }
}
