use super::*;
use crate::base::{Faults, ManualClock, TurnId};
use crate::envelope::{Press, PressReply, Submitted};
use crate::store::{KvStore, MemoryEngine};
use crate::task::TaskSet;

/// Keeps what is handed in; out of order as long as it is told to be.
#[derive(Default)]
struct Ear {
    heard: Mutex<Vec<Errand>>,
    is_deaf: Mutex<bool>,
}

impl Ear {
    fn ids(&self) -> Vec<String> {
        self.heard.lock().unwrap().iter().map(|errand| errand.message.id.to_string()).collect()
    }
}

#[async_trait]
impl Inlet for Ear {
    async fn submit(&self, arrival: Arrival) -> Result<Submitted, InletError> {
        let Arrival::Errand(errand) = arrival else { panic!("{arrival:?}") };
        if *self.is_deaf.lock().unwrap() {
            return Err(InletError::Unavailable("full".to_owned()));
        }
        let mut heard = self.heard.lock().unwrap();
        if heard.iter().any(|known| known.keys == errand.keys) {
            return Ok(Submitted::Duplicate);
        }
        heard.push(*errand);
        Ok(Submitted::Accepted(TurnId::parse("0198c0de-0000-7000-8000-000000000000").unwrap()))
    }

    async fn press(&self, _press: Press) -> PressReply {
        panic!("nobody presses")
    }
}

struct Scene {
    store: Arc<dyn Store>,
    clock: ManualClock,
    ear: Arc<Ear>,
}

impl Scene {
    fn new() -> Self {
        let tasks = TaskSet::new("test", CancellationToken::new());
        let store = KvStore::open(MemoryEngine::default(), tasks, Faults::default()).unwrap();
        let clock = ManualClock::at(at("2026-12-01T00:00:00Z"));
        Self { store: Arc::new(store), clock, ear: Arc::default() }
    }

    /// A daemon that starts.
    fn scheduler(&self, lines: &str) -> Scheduler {
        let text = format!(
            "name = \"b\"\nknowledge = [\"k\"]\n[lark]\napp_id = \"cli_1\"\n[[schedules]]\nname = \"s\"\n\
             timezone = \"Asia/Shanghai\"\nchat = \"oc_1\"\n{lines}"
        );
        let (bot, problems) = crate::bots::load(std::path::Path::new("b.toml"), &text);
        let schedule = bot.unwrap_or_else(|| panic!("{problems:?}")).schedules.remove(0);
        let deps = SchedulerDeps {
            store: Arc::clone(&self.store),
            clock: Arc::new(self.clock.clone()),
            inlet: Arc::<Ear>::clone(&self.ear),
            channel: Channel::Lark,
        };
        Scheduler::new(deps, [(BotName::new("b"), schedule)]).unwrap()
    }

    async fn look(&self, scheduler: &Scheduler, time: &str) {
        self.clock.set(at(time));
        scheduler.look(&scheduler.plans[0]).await;
    }
}

fn at(text: &str) -> Timestamp {
    let time: jiff::Timestamp = text.parse().unwrap();
    Timestamp::from_millis(u64::try_from(time.as_millisecond()).unwrap())
}

const DIGEST: &str = "cron = \"0 9 * * *\"\naction = \"knowledge_digest\"\n";
const NINE: &str = "schedule-b-s-2026-12-02T01:00:00Z";

#[tokio::test]
async fn a_time_becomes_one_errand_whatever_is_restarted() {
    let scene = Scene::new();
    let scheduler = scene.scheduler(DIGEST);
    // It is ten at the first sight: nine is not made up for.
    for time in ["2026-12-01T02:00:00Z", "2026-12-02T00:59:59Z"] {
        scene.look(&scheduler, time).await;
        assert!(scene.ear.ids().is_empty());
    }
    scene.look(&scheduler, "2026-12-02T01:00:00Z").await;
    scene.look(&scheduler, "2026-12-02T01:00:01Z").await;
    assert_eq!(scene.ear.ids(), [NINE]);
    scene.look(&scene.scheduler(DIGEST), "2026-12-02T01:00:02Z").await;
    assert_eq!(scene.ear.ids(), [NINE]);

    let heard = scene.ear.heard.lock().unwrap();
    let message = &heard[0].message;
    assert_eq!(message.content, "/digest s");
    assert_eq!(message.channel, Channel::Schedule);
    assert_eq!(message.timestamp, at("2026-12-02T01:00:00Z"));
    let destination = message.reply_fn.destination();
    assert_eq!((destination.chat.as_str(), &destination.reply_to), ("oc_1", &None));
}

#[tokio::test]
async fn what_cannot_be_handed_in_is_handed_in_later_and_not_twice() {
    let scene = Scene::new();
    let scheduler = scene.scheduler(DIGEST);
    scene.look(&scheduler, "2026-12-01T02:00:00Z").await;
    *scene.ear.is_deaf.lock().unwrap() = true;
    scene.look(&scheduler, "2026-12-02T01:00:00Z").await;
    let job = |scheduler: &Scheduler| scheduler.job(&scheduler.plans[0]);
    assert_eq!(job(&scheduler).last_run, None);
    *scene.ear.is_deaf.lock().unwrap() = false;
    scene.look(&scheduler, "2026-12-02T01:05:00Z").await;
    assert_eq!(scene.ear.ids(), [NINE]);
    assert_eq!(job(&scheduler).last_run.as_deref(), Some("2026-12-02T09:00:00+08:00"));

    // It was handed in, but the store took no note of it any more.
    scene.store.close().await;
    scene.look(&scheduler, "2026-12-03T01:00:00Z").await;
    scene.look(&scheduler, "2026-12-03T01:00:01Z").await;
    assert_eq!(scene.ear.ids().len(), 2);
}

#[tokio::test]
async fn a_restart_over_a_time_makes_up_for_it_and_counts_what_it_does_not() {
    let scene = Scene::new();
    scene.look(&scene.scheduler(DIGEST), "2026-12-01T02:00:00Z").await;
    let scheduler = scene.scheduler(DIGEST);
    scene.look(&scheduler, "2026-12-05T02:00:00Z").await;
    assert_eq!(scene.ear.ids(), ["schedule-b-s-2026-12-05T01:00:00Z"]);
    let job = scheduler.job(&scheduler.plans[0]);
    assert_eq!(job.missed, 3);
    assert_eq!(job.next_run.as_deref(), Some("2026-12-06T09:00:00+08:00"));

    let skipping = format!("{DIGEST}misfire = {{ policy = \"skip\" }}\n");
    scene.look(&scene.scheduler(&skipping), "2026-12-06T02:00:00Z").await;
    assert_eq!(scene.ear.ids().len(), 1);
}

#[tokio::test]
async fn other_times_begin_anew() {
    let scene = Scene::new();
    scene.look(&scene.scheduler(DIGEST), "2026-12-01T02:00:00Z").await;
    let earlier = DIGEST.replace("0 9", "30 8");
    let scheduler = scene.scheduler(&earlier);
    scene.look(&scheduler, "2026-12-02T00:45:00Z").await;
    assert!(scene.ear.ids().is_empty(), "half past eight was no time of it");
    scene.look(&scheduler, "2026-12-03T00:30:00Z").await;
    assert_eq!(scene.ear.ids(), ["schedule-b-s-2026-12-03T00:30:00Z"]);
}

#[tokio::test]
async fn a_prompt_is_asked_when_it_is_handed_in() {
    let scene = Scene::new();
    let prompt = "cron = \"0 * * * *\"\naction = \"prompt\"\nprompt = \"What is new?\"\n\
                  misfire = { policy = \"all\" }\n";
    let scheduler = scene.scheduler(prompt);
    scene.look(&scheduler, "2026-12-01T02:30:00Z").await;
    scene.look(&scheduler, "2026-12-01T04:30:00Z").await;
    let heard = scene.ear.heard.lock().unwrap();
    assert_eq!(heard.len(), 2, "each of the two hours");
    assert_eq!(heard[0].message.content, "What is new?");
    assert_eq!(heard[0].message.timestamp, at("2026-12-01T04:30:00Z"));
}
