//! Searches over real files in a temporary folder.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::ManualClock;

struct Shelf {
    folder: tempfile::TempDir,
    clock: ManualClock,
    base: KnowledgeBase,
}

impl Shelf {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            write(folder.path(), name, text);
        }
        let clock = ManualClock::at(Timestamp::from_millis(1_000_000));
        let tasks = TaskSet::new("test", CancellationToken::new());
        let folders = vec![folder.path().to_owned()];
        let base = KnowledgeBase::new(folders, tasks, Arc::new(clock.clone()));
        Self { folder, clock, base }
    }

    async fn ids(&self, query: &str) -> Vec<String> {
        let hits = self.base.search(query, 10).await.unwrap();
        hits.into_iter().map(|hit| hit.id).collect()
    }

    fn write(&self, name: &str, text: &str) {
        write(self.folder.path(), name, text);
        self.clock.advance(Duration::from_secs(1));
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const RELEASE: &str = "---\nid: release\ntitle: 发布新版本\nkind: rule\ntags: [发布, 上线]\n\
    trigger: [怎么发布, 如何上线]\n---\n每周二下午发布。先在飞书群里通知，再合并 `release_branch`。\n";
const BORROW: &str = "---\nid: borrow\ntitle: Fixing E0502 in Rust\ntags: [rust]\n---\n\
    # Fixing E0502 in Rust\n\nThe compiler reports E0502 when a value is borrowed mutably while it \
    is also borrowed immutably.\n\nSplit the borrow, or clone the value. Works since v1.2.3.\n";
const BACKUP: &str = "---\nid: backup\ntitle: Backing up the data folder\n---\n\
    Stop the daemon, copy the folder `data_dir`, start it again.\n";

fn shelf() -> Shelf {
    Shelf::new(&[("zh/release.md", RELEASE), ("borrow.md", BORROW), ("backup.md", BACKUP)])
}

#[tokio::test]
async fn words_of_both_languages_find_their_recipes() {
    let shelf = shelf();
    for (query, id) in [
        ("发布", "release"),
        ("上线", "release"),
        ("飞书", "release"),
        ("周二", "release"),
        ("请问怎么发布新版本？", "release"),
        ("release_branch", "release"),
        ("borrowing", "borrow"),
        ("e0502", "borrow"),
        ("v1.2.3", "borrow"),
        ("How do I fix E0502 in my code?", "borrow"),
        ("backups of the DATA FOLDER", "backup"),
        ("data_dir 在哪里备份", "backup"),
    ] {
        assert_eq!(shelf.ids(query).await, [id], "{query}");
    }
}

#[tokio::test]
async fn a_hit_tells_where_it_is_and_what_it_says() {
    let shelf = shelf();
    let hits = shelf.base.search("E0502 clone", 5).await.unwrap();
    assert_eq!(hits[0].title, "Fixing E0502 in Rust");
    assert_eq!(hits[0].source, "borrow.md");
    assert!(hits[0].excerpt.contains("E0502"), "{}", hits[0].excerpt);
    assert!(hits[0].excerpt.chars().count() <= 240);
    assert!(hits[0].score > 0.0);
    let hits = shelf.base.search("发布", 5).await.unwrap();
    assert_eq!(hits[0].source, "zh/release.md");
}

#[tokio::test]
async fn a_question_about_something_else_finds_nothing() {
    let shelf = shelf();
    for query in [
        "今天天气怎么样",
        "量子力学是什么",
        "What is the capital of France?",
        "how do you",
        "explain the compiler of quantum entanglement",
        "为什么",
        "the",
        "",
        "   ",
        // One word of many is by chance.
        "my grandmother plays violin concertos in the folder of Vienna",
    ] {
        assert_eq!(shelf.ids(query).await, [""; 0], "{query}");
    }
}

#[tokio::test]
async fn hostile_queries_are_only_words() {
    let shelf = shelf();
    let long = "数据 data \u{0} ".repeat(10_000);
    for query in [
        "a AND OR ) (",
        "title:\"E0502",
        "*~^[TO]{",
        "🙂🙂🙂",
        "\u{202e}\u{0}",
        "\\",
        &long,
        &"发".repeat(40_000),
        &"x".repeat(100_000),
    ] {
        assert!(shelf.base.search(query, 5).await.is_ok());
    }
    assert_eq!(shelf.ids("E0502 AND (").await, ["borrow"]);
    assert_eq!(shelf.base.search("E0502", 0).await.unwrap(), []);
    assert_eq!(shelf.base.search("E0502", usize::MAX).await.unwrap().len(), 1);
}

#[tokio::test]
async fn new_edited_and_removed_files_are_followed() {
    let shelf = shelf();
    assert_eq!(shelf.ids("kubernetes").await, [""; 0]);
    shelf.write("k8s.md", "# Kubernetes\nRolling restarts.");
    assert_eq!(shelf.ids("kubernetes").await, ["k8s"]);
    shelf.write("k8s.md", "# Nomad\nRolling restarts, another way.");
    assert_eq!(shelf.ids("kubernetes").await, [""; 0]);
    assert_eq!(shelf.ids("nomad").await, ["k8s"]);
    fs::remove_file(shelf.folder.path().join("k8s.md")).unwrap();
    shelf.clock.advance(Duration::from_secs(1));
    assert_eq!(shelf.ids("nomad").await, [""; 0]);
    assert_eq!(shelf.base.get("k8s").await.unwrap(), None);
}

#[tokio::test]
async fn files_are_looked_at_once_a_second_even_if_the_clock_is_set_back() {
    let shelf = shelf();
    assert_eq!(shelf.ids("nomad").await, [""; 0]);
    write(shelf.folder.path(), "nomad.md", "# Nomad");
    assert_eq!(shelf.ids("nomad").await, [""; 0], "within the second");
    shelf.clock.set(Timestamp::from_millis(1));
    assert_eq!(shelf.ids("nomad").await, ["nomad"]);
}

#[tokio::test]
async fn drafts_and_deprecated_recipes_are_read_but_not_found() {
    let text = |id: &str, status: &str| {
        format!("---\nid: {id}\nstatus: {status}\n---\n# Kangaroo {id}\nkangaroo\n")
    };
    let shelf = Shelf::new(&[
        ("a.md", &text("a", "draft")),
        ("b.md", &text("b", "deprecated")),
        ("c.md", &text("c", "evolving")),
        ("d.md", &text("d", "Active")),
    ]);
    let mut found = shelf.ids("kangaroo").await;
    found.sort();
    assert_eq!(found, ["c", "d"]);
    let draft = shelf.base.get("a").await.unwrap().unwrap();
    assert_eq!((draft.status.as_str(), draft.source.as_str()), ("draft", "a.md"));
    shelf.write("d.md", &text("d", "deprecated"));
    assert_eq!(shelf.ids("kangaroo").await, ["c"]);
}

#[tokio::test]
async fn files_that_are_no_recipes_are_left_out_and_the_first_of_an_id_counts() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret.md", "# Wallaby secret");
    let shelf = Shelf::new(&[
        ("a/one.md", "---\nid: same\ntitle: Wallaby one\n---\n"),
        ("b/two.md", "---\nid: same\ntitle: Wallaby two\n---\n"),
        ("broken.md", "---\ntitle: Wallaby broken\n"),
        ("notes.txt", "wallaby"),
        (".git/x.md", "# Wallaby hidden"),
        ("huge.md", &"wallaby ".repeat(140_000)),
    ]);
    let folder = shelf.folder.path();
    fs::write(folder.join("bytes.md"), b"# Wallaby \xff\xfe").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.md"), folder.join("link.md")).unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.join("linked")).unwrap();
    let hits = shelf.base.search("wallaby", 10).await.unwrap();
    let titles: Vec<&str> = hits.iter().map(|hit| hit.title.as_str()).collect();
    assert_eq!(titles, ["Wallaby one"]);
    fs::remove_file(folder.join("a/one.md")).unwrap();
    shelf.clock.advance(Duration::from_secs(1));
    let hits = shelf.base.search("wallaby", 10).await.unwrap();
    assert_eq!(hits[0].title, "Wallaby two");
}

#[tokio::test]
async fn a_missing_folder_is_empty_until_it_appears() {
    let shelf = shelf();
    let folder = shelf.folder.path().join("later");
    let tasks = TaskSet::new("test", CancellationToken::new());
    let clock = Arc::new(shelf.clock.clone());
    let base = KnowledgeBase::new(vec![folder.clone()], tasks, clock);
    assert_eq!(base.search("quokka", 5).await.unwrap(), []);
    write(&folder, "quokka.md", "# Quokka");
    shelf.clock.advance(Duration::from_secs(1));
    assert_eq!(base.search("quokka", 5).await.unwrap().len(), 1);
}

#[tokio::test]
async fn changes_are_told_newest_first() {
    let shelf = Shelf::new(&[
        ("old.md", "---\nupdated: 2026-01-01\n---\nold"),
        ("new.md", "---\nupdated: 2026-03-01\n---\nnew"),
        ("mid.md", "---\nupdated: 2026-02-01T10:00:00+08:00\nstatus: draft\n---\nmid"),
    ]);
    let since = "2026-01-15T00:00:00Z".parse::<jiff::Timestamp>().unwrap();
    let since = u64::try_from(since.as_millisecond()).unwrap();
    let changed = shelf.base.changes(Timestamp::from_millis(since)).await;
    let ids: Vec<String> = changed.unwrap().into_iter().map(|recipe| recipe.id).collect();
    assert_eq!(ids, ["new", "mid"]);
    let all = shelf.base.changes(Timestamp::default()).await.unwrap();
    assert_eq!(all.len(), 3);
}

#[tokio::test]
async fn the_catalogue_tells_content_from_time_and_who_waits_for_review() {
    let shelf = Shelf::new(&[
        ("a.md", "---\nid: a\n---\nfirst"),
        ("b.md", "---\nid: b\nstatus: candidate\n---\nsecond"),
        ("c.md", "---\nid: c\nstatus: Staged\n---\nthird"),
    ]);
    let before = shelf.base.catalogue().await.unwrap();
    let waits: Vec<(&str, bool)> =
        before.iter().map(|mark| (mark.id.as_str(), mark.is_waiting)).collect();
    assert_eq!(waits, [("a", false), ("b", true), ("c", true)]);
    // Written again as it was, and written anew in its front matter alone.
    shelf.write("a.md", "---\nid: a\n---\nfirst");
    shelf.write("b.md", "---\nid: b\nstatus: active\n---\nsecond");
    let after = shelf.base.catalogue().await.unwrap();
    let changed = |place: usize| before[place].content != after[place].content;
    assert_eq!((changed(0), changed(1), changed(2)), (false, true, false));
    assert!(!after[1].is_waiting);
}

#[tokio::test]
async fn the_sample_recipes_are_all_read_and_found_by_their_titles() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bots/knowledge");
    let files = fs::read_dir(&folder).unwrap().count();
    let tasks = TaskSet::new("test", CancellationToken::new());
    let clock = ManualClock::at(Timestamp::from_millis(1));
    let base = KnowledgeBase::new(vec![folder], tasks, Arc::new(clock));
    let recipes = base.changes(Timestamp::default()).await.unwrap();
    assert_eq!(recipes.len(), files, "a sample recipe cannot be read");
    assert!(files >= 12);
    for recipe in recipes {
        let hits = base.search(&recipe.title, 3).await.unwrap();
        if matches!(recipe.status.as_str(), "active" | "evolving") {
            assert_eq!(hits[0].id, recipe.id, "{}", recipe.title);
        } else {
            assert!(hits.iter().all(|hit| hit.id != recipe.id), "{} is not active", recipe.id);
        }
    }
}

#[tokio::test]
async fn questions_as_people_ask_them_find_the_right_sample_recipe_first() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bots/knowledge");
    let tasks = TaskSet::new("test", CancellationToken::new());
    let clock = ManualClock::at(Timestamp::from_millis(1));
    let base = KnowledgeBase::new(vec![folder], tasks, Arc::new(clock));
    let mut wrong = Vec::new();
    for (question, id) in [
        ("为什么机器人没有回答？", "why-is-the-bot-silent"),
        ("为什么机器人不回答", "why-is-the-bot-silent"),
        ("机器人怎么不说话", "why-is-the-bot-silent"),
        ("Why does the bot not answer?", "why-is-the-bot-silent"),
        ("how do I connect a Feishu app", "connect-feishu-app"),
        ("怎么把机器人接入飞书？", "connect-feishu-app"),
        ("签名错误 401", "encrypt-key-and-signature"),
        ("怎么写知识库", "writing-recipes"),
        ("备份", "backup-data-folder"),
        ("How do I back up the data?", "backup-data-folder"),
        ("请问机器人需要哪些权限", "permissions-and-scopes"),
        ("谁可以使用机器人？", "access-lists"),
        ("怎么发布新版本", "publish-app-version"),
        ("怎么升级", "upgrading"),
        ("有哪些命令", "slash-commands"),
        ("没有飞书应用能不能先试用", "try-it-locally"),
        ("怎么订阅事件", "event-subscription"),
        ("发送太快被限流了", "rate-limits"),
        ("内网怎么接收回调", "webhook-url-and-tunnel"),
    ] {
        let hits = base.search(question, 3).await.unwrap();
        let found: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
        if found.first() != Some(&id) {
            wrong.push(format!("{question}: {found:?} instead of {id}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
