//! `kill -9` while a digest is made, posted and recorded: people see it once, and the news are
//! neither lost nor told again.

use std::time::Duration;

use crate::almanac::Almanac;
use crate::stage::PATIENCE;

const POINTS: [&str; 9] = [
    "accept.before_commit",
    "accept.after_commit",
    "turn.before_plan",
    "turn.after_plan",
    "send.before",
    "send.after",
    "send.after:2",
    "close.before",
    "close.after",
];

/// Waits until the process is gone. A platform that takes cards gives a digest only one passage of
/// its send: whoever waits for a second one sees the digest recorded instead.
async fn killed(almanac: &mut Almanac, point: &str) {
    let id = almanac.id();
    let gone = async {
        while !almanac.stage.has_ended() {
            let why = almanac.stage.cli(&["why", &id, "--json"]).stdout;
            if point == "send.after:2" && String::from_utf8_lossy(&why).contains("\"command\"") {
                return almanac.stage.kill();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(almanac.stage.ended(PATIENCE).await.is_some());
    };
    let in_time = tokio::time::timeout(PATIENCE, gone).await.is_ok();
    assert!(in_time, "{point} is not reached: {}", almanac.stage.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_point_of_a_digest_shows_it_once_and_keeps_the_news() {
    for point in POINTS {
        let mut almanac = Almanac::begun("action = \"knowledge_digest\"\n").await;
        almanac.write("a", "Alpha recipe", "active");
        almanac.start(-1, &[("LARKSPUR_FAULT", point)]).await;
        killed(&mut almanac, point).await;
        let at_kill = almanac.lines().len();
        almanac.write("b", "Beta recipe", "active");
        almanac.start(5, &[]).await;
        almanac.stage.verdict(&almanac.id(), "command").await;
        almanac.stage.kill();
        almanac.start(10, &[]).await;
        assert!(almanac.stage.terminate().await.success());

        let first = almanac.minute();
        almanac.next();
        almanac.write("c", "Gamma recipe", "active");
        almanac.start(-1, &[]).await;
        almanac.stage.verdict(&almanac.id(), "command").await;
        let lines = almanac.lines();
        assert_eq!(lines.len(), 2, "{point}: {lines:?}");
        assert!(lines[0].contains(&first), "{point}: {lines:?}");
        let whole = lines.join("\n");
        for title in ["Alpha recipe", "Beta recipe", "Gamma recipe"] {
            // Besides the list, a button may name it.
            let told = whole.matches(&format!("[{title}]")).count();
            assert_eq!(told, 1, "{point}: {title} in {lines:?}");
        }
        println!("killed at {point}: {at_kill} seen at the kill, each recipe told once");
    }
}
