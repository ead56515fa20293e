//! `kill -9` while a digest is made, posted and recorded: people see it once, and the news are
//! neither lost nor told again.

use crate::almanac::Almanac;
use crate::stage::PATIENCE;

const POINTS: [&str; 8] = [
    "accept.before_commit",
    "accept.after_commit",
    "turn.before_plan",
    "turn.after_plan",
    "send.before",
    "send.after",
    "close.before",
    "close.after",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_point_of_a_digest_shows_it_once_and_keeps_the_news() {
    for point in POINTS {
        let mut almanac = Almanac::begun("action = \"knowledge_digest\"\n").await;
        almanac.write("a", "Alpha recipe", "active");
        almanac.start(-1, &[("LARKSPUR_FAULT", point)]).await;
        let ended = almanac.stage.ended(PATIENCE).await;
        assert!(ended.is_some(), "{point} is not reached: {}", almanac.stage.log());
        let at_kill = almanac.lines().len();
        // Posted, and nobody has noted it: the case that all of this is about.
        assert!(point != "send.after" || at_kill == 1, "{point}: {at_kill} seen at the kill");
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
