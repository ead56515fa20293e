use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::agent::{Driver, Pipeline};
use crate::base::{Aside, ChatId, Disposition, Locale, MessageId, Say, SystemClock, UserId};
use crate::bots::Entry;
use crate::channels::terminal::incoming;
use crate::envelope::{
    Block, Button, ButtonPress, Card, CardStamp, Certainty, Channel, ChatKind, DeliverError,
    Delivered, Delivery, Destination, Errand, ErrandKind, Failures, GenuineButton, Operation,
    Outlet, Pressed, Relation, ReplyFn, Tone,
};
use crate::gateway::failed::{FailedV1, failed_key};
use crate::gateway::plan::planned_closing;
use crate::gateway::why::happened_in;
use crate::gateway::{AdmissionRules, InDoubt, SessionScope};
use crate::llm::OfflineModel;
use crate::store::{
    Batch, ClosingV1, Direction, Engine, Found, Kept, KeyRange, KvStore, MemoryEngine, ReceiptV1,
    Standing, StoreError, Visit,
};
use crate::tools::{Tier, ToolRegistry};

const PATIENCE: Duration = Duration::from_secs(20);

/// A disk that takes its time, and refuses so many of the next writes.
#[derive(Debug, Default)]
struct Slow(MemoryEngine, Arc<AtomicUsize>);

impl Engine for Slow {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.get(key)
    }

    fn scan(
        &self,
        range: &KeyRange,
        way: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.0.scan(range, way, visit)
    }

    fn apply(&self, batch: &Batch) -> Result<(), StoreError> {
        std::thread::sleep(Duration::from_millis(30));
        if self.1.load(Ordering::SeqCst) > 0 {
            self.1.fetch_sub(1, Ordering::SeqCst);
            return Err(StoreError::Disk("full".to_owned()));
        }
        self.0.apply(batch)
    }

    fn apply_unsynced(&self, batch: &Batch) -> Result<(), StoreError> {
        self.0.apply_unsynced(batch)
    }

    fn close(&self) {
        self.0.close();
    }
}

/// Keeps what is said; refuses so many tries at first, in a given way.
#[derive(Default)]
struct Mouth {
    said: Mutex<Vec<(String, String)>>,
    refusals: AtomicUsize,
    changed: Mutex<Vec<Card>>,
}

#[async_trait]
impl Outlet for Mouth {
    async fn deliver(&self, delivery: &Delivery) -> Result<Delivered, DeliverError> {
        if let Operation::ChangeCard { card, .. } = &delivery.operation {
            self.changed.lock().unwrap().push(Card::clone(card));
        }
        let (Operation::Reply { text, .. } | Operation::Create { text, .. }) = &delivery.operation
        else {
            return Ok(Delivered { id: String::new() });
        };
        let left = self.refusals.load(Ordering::SeqCst);
        if left > 0 {
            self.refusals.store(left - 1, Ordering::SeqCst);
            return Err(DeliverError {
                certainty: Certainty::NotSent,
                disposition: Disposition::Retry { after: Some(Duration::from_millis(400)) },
                code: None,
                target_gone: false,
                content_refused: false,
                words_refused: false,
                text: "no connection".to_owned(),
            });
        }
        self.said.lock().unwrap().push((delivery.uuid.clone(), text.clone()));
        Ok(Delivered { id: format!("om_{}", delivery.uuid) })
    }

    fn text_bytes_max(&self) -> usize {
        1000
    }
}

fn gateway(mouth: &Arc<Mouth>) -> Gateway {
    gateway_on(Slow::default(), mouth)
}

fn gateway_on(disk: Slow, mouth: &Arc<Mouth>) -> Gateway {
    let tasks = TaskSet::new("test", CancellationToken::new());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let store = KvStore::open(disk, tasks.clone(), Faults::default()).unwrap();
    let outlet: Arc<dyn Outlet> = Arc::<Mouth>::clone(mouth);
    let bot = BotRuntime {
        name: BotName::new("b"),
        rules: AdmissionRules {
            admins: vec![Entry::Person("terminal".to_owned())],
            ..AdmissionRules::default()
        },
        locale: Locale::EnUs,
        persona: String::new(),
        preset: "chat".to_owned(),
        session_scope: SessionScope::Chat,
        queue_max: 8,
        welcome: true,
        examples: Vec::new(),
        in_doubt: InDoubt::Drop,
        driver: Driver {
            model: Arc::new(OfflineModel::new()),
            pipeline: Pipeline::new(ToolRegistry::default(), Tier::Read, None),
            clock: Arc::clone(&clock),
            faults: Faults::default(),
        },
        outlets: HashMap::from([(Channel::Cli, outlet)]),
        knowledge: None,
        knowledge_url: String::new(),
        schedules: Vec::new(),
        people: None,
        links: None,
        lookups: HashMap::new(),
    };
    let deps = GatewayDeps {
        store: Arc::new(store),
        clock,
        tasks,
        classifier: Classifier::default(),
        faults: Faults::default(),
        meter: CallMeter::default(),
        version: "test",
    };
    Gateway::new(deps, vec![bot])
}

fn question(id: &str) -> Arrival {
    let message = AgentMessage::from_cli(BotName::new("b"), MessageId::new(id), "what is up");
    Arrival::Message(Box::new(incoming(message.sent_at(SystemClock::default().now()))))
}

async fn said(mouth: &Mouth, count: usize) -> Vec<(String, String)> {
    let enough = async {
        while mouth.said.lock().unwrap().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, enough).await.expect("it is said in time");
    mouth.said.lock().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submitter_that_goes_away_in_the_middle_is_answered_all_the_same() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    // The commit takes 30 ms; the one who waits for it is gone after 5.
    let gone = tokio::time::timeout(Duration::from_millis(5), gateway.submit(question("m1")));
    assert!(gone.await.is_err(), "it went away before it was told");
    assert_eq!(said(&mouth, 1).await.len(), 1);
    let again = gateway.submit(question("m1")).await;
    assert!(again.is_ok());
    assert_eq!(mouth.said.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_surely_did_not_happen_is_no_doubtful_one() {
    let mouth = Arc::new(Mouth { refusals: AtomicUsize::new(1), ..Mouth::default() });
    let gateway = gateway(&mouth);
    let Submitted::Accepted(turn) = gateway.submit(question("m1")).await.unwrap() else {
        panic!("not accepted")
    };
    // Between the refusal and the next try the store says that nothing was tried.
    let untried = async {
        loop {
            let sends = gateway.shared.store.sends(turn).await.unwrap();
            let refused = mouth.refusals.load(Ordering::SeqCst) == 0;
            if let Some((_, send)) = sends.first()
                && refused
                && send.first_try_at.is_none()
            {
                return send.state;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let state = tokio::time::timeout(PATIENCE, untried).await.expect("it is put back");
    assert_eq!(state, crate::store::SendState::Planned);
    assert_eq!(said(&mouth, 1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_reply_handle_reaches_the_chat_it_was_made_for() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    let message = AgentMessage::from_cli(BotName::new("b"), MessageId::new("m1"), "hi");
    let mut reply_fn: ReplyFn = message.reply_fn;
    reply_fn.bind(gateway.sink());
    reply_fn.call("from afar").await.unwrap();
    assert_eq!(said(&mouth, 1).await[0].1, "from afar");
}

#[tokio::test(flavor = "multi_thread")]
async fn why_tells_a_chat_nothing_of_another_chat() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    gateway.submit(question("m1")).await.unwrap();
    said(&mouth, 1).await;
    let found = loop {
        let found = gateway.shared.store.find(&MessageId::new("m1")).await.unwrap().unwrap();
        if matches!(found, Found::Closed(..)) {
            break found;
        }
    };
    let (bot, here, there) = (BotName::new("b"), ChatId::new("terminal"), ChatId::new("term"));
    assert!(happened_in(&found, &bot, &here));
    assert!(!happened_in(&found, &bot, &there));
    assert!(!happened_in(&found, &BotName::new("c"), &here));
}

fn press(bot: &str, operator: &str) -> Press {
    Press {
        bot: BotName::new(bot),
        channel: Channel::Cli,
        event_type: "press".to_owned(),
        subject: "ev_1".to_owned(),
        keys: vec![DedupKey::new(Timestamp::default(), &["ev_1"])],
        operator: UserId::new(operator),
        relation: Relation::Outsider,
        chat: None,
        message: None,
        host: String::new(),
        pressed: Pressed::default(),
        button: Button::Foreign,
        takes_card: true,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_is_answered_by_a_bot_that_is_ending_or_not_there_at_all() {
    let gateway = gateway(&Arc::new(Mouth::default()));
    let said = async |press| gateway.press(press).await.text;
    let locale = Locale::EnUs;
    let text = |aside| Say::Aside(aside).text(locale);
    assert_eq!(said(press("b", "terminal")).await, text(Aside::PressUnknown));
    assert_eq!(said(press("b", "terminal")).await, text(Aside::PressUnknown), "again");
    gateway.drain().cancel();
    assert_eq!(said(press("b", "terminal")).await, text(Aside::PressLater));
    let elsewhere = Say::Aside(Aside::PressLater).text(Locale::default());
    assert_eq!(said(press("c", "terminal")).await, elsewhere);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_of_somebody_who_is_on_no_list_is_refused() {
    let gateway = gateway(&Arc::new(Mouth::default()));
    let reply = gateway.press(press("b", "somebody")).await;
    assert_eq!(reply.text, Say::Aside(Aside::PressNotAllowed).text(Locale::EnUs));
    assert_eq!(reply.tone, Tone::Warning);
}

/// A failed turn, kept to be done again.
async fn keep_failed(gateway: &Gateway, turn: TurnId, admitted: AdmittedV1) {
    let kept = FailedV1 {
        message: AgentMessage::from_cli(BotName::new("b"), MessageId::new("m1"), "what is up"),
        verdict: Verdict::Failed,
        reason: "on purpose".to_owned(),
        at: SystemClock::default().now(),
        replayed: None,
        admitted,
    };
    let change = kept.change(&failed_key(turn)).unwrap();
    gateway.shared.store.commit(vec![change]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn replays_that_are_asked_for_at_the_same_moment_are_one() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    let failed = gateway.next_turn();
    keep_failed(&gateway, failed, AdmittedV1::default()).await;
    // The commit takes 30 ms: all of them look before the first is done. Fewer than the line holds.
    let replays = (0..6).map(|_| gateway.replay(failed));
    let replays = futures_util::future::join_all(replays).await;
    let replays: Vec<_> = replays.into_iter().map(Result::unwrap).collect();
    assert_eq!(replays.iter().filter(|replay| replay.new).count(), 1, "{replays:?}");
    assert!(replays.iter().all(|replay| replay.turn == replays[0].turn), "{replays:?}");
    assert_eq!(said(&mouth, 1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_does_not_answer_a_sender_who_was_never_cleared() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    let failed = gateway.next_turn();
    keep_failed(&gateway, failed, uncleared()).await;
    gateway.replay(failed).await.unwrap();
    assert_eq!(closed(&gateway, "m1").await.verdict, Verdict::NotAllowed);
    assert!(mouth.said.lock().unwrap().is_empty());
}

/// The receipt of a message's turn, once that is closed.
async fn closed(gateway: &Gateway, message: &str) -> ReceiptV1 {
    let id = MessageId::new(message);
    let closed = async {
        loop {
            if let Some(Found::Closed(_, receipt)) = gateway.shared.store.find(&id).await.unwrap() {
                return receipt;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    *tokio::time::timeout(PATIENCE, closed).await.unwrap()
}

fn uncleared() -> AdmittedV1 {
    let standing = Standing::Unclear { may_pair: false };
    AdmittedV1 { standing, ..AdmittedV1::default() }
}

/// A message from long ago, of somebody who may or may not be let in.
fn row_of_somebody(gateway: &Gateway, id: &str) -> InboxV1 {
    let message = AgentMessage::from_cli(BotName::new("b"), MessageId::new(id), "what is up");
    let row = gateway.row(message.sent_at(Timestamp::from_millis(1)), Lane::Session);
    InboxV1 { admitted: uncleared(), ..row }
}

#[tokio::test(flavor = "multi_thread")]
async fn before_clearance_nobody_is_told_of_a_full_line_or_a_late_message() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    let mut bot = (*gateway.shared.bots[&BotName::new("b")]).clone();
    bot.rules.stale.then = crate::bots::StaleWord::Drop;
    let keys = [DedupKey::new(Timestamp::default(), &["m1"])];
    let row = row_of_somebody(&gateway, "m1");
    let late = gateway.drop_late(&bot, &keys, &row).await.unwrap().unwrap();
    assert_eq!(late, Submitted::NoWork(Verdict::Stale));
    let busy = gateway.accept_busy(&bot, &keys, row).await.unwrap();
    assert_eq!(busy, Submitted::NoWork(Verdict::Busy));
}

#[tokio::test(flavor = "multi_thread")]
async fn before_clearance_nobody_hears_the_apology_for_a_broken_turn() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    let (turn, row) = (gateway.next_turn(), row_of_somebody(&gateway, "m1"));
    let mut job = Job { turn, row, stop: Stop::default(), recovered: false };
    gateway.run(&mut job, u32::MAX).await.unwrap();
    assert_eq!(closed(&gateway, "m1").await.verdict, Verdict::NotAllowed);
    assert!(mouth.said.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_cannot_be_stored_leaves_neither_a_closing_nor_a_code() {
    let refusals = Arc::new(AtomicUsize::new(0));
    let disk = Slow(MemoryEngine::default(), Arc::clone(&refusals));
    let gateway = gateway_on(disk, &Arc::new(Mouth::default()));
    let bot = Arc::clone(&gateway.shared.bots[&BotName::new("b")]);
    let (turn, mut row) = (gateway.next_turn(), row_of_somebody(&gateway, "m1"));
    let message = row.message.clone();
    refusals.store(1, Ordering::SeqCst);
    let offered = gateway.offer_pairing(&bot, &message);
    gateway.plan(&bot, turn, &mut row, offered).await.unwrap_err();
    assert!(row.closing.is_none(), "it is planned again");
    let offered = gateway.offer_pairing(&bot, &message);
    assert!(offered.text.is_some(), "the code is offered again");
    gateway.plan(&bot, turn, &mut row, offered).await.unwrap();
    assert!(gateway.offer_pairing(&bot, &message).text.is_none(), "once");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_before_the_run_is_left_out_of_what_is_answered_as_one() {
    let gateway = gateway(&Arc::new(Mouth::default()));
    let original = |id: &str| AgentMessage::from_cli(BotName::new("b"), MessageId::new(id), id);
    let mut row = gateway
        .row(AgentMessage { content: "m1\nm2\nm3".to_owned(), ..original("m1") }, Lane::Session);
    row.merged = ["m1", "m2", "m3"].map(original).to_vec();
    let turn = gateway.next_turn();
    let mut job = Job { turn, row, stop: Stop::default(), recovered: false };
    for (recalled, left) in [("m1", "m2\nm3"), ("m3", "m2"), ("m2", "m2")] {
        gateway.end_if_withdrawn(&job);
        assert!(!job.stop.is_ended(), "there is something left to answer");
        let notice = crate::envelope::Notice {
            channel: Channel::Cli,
            bot: BotName::new("b"),
            event_type: "recalled".to_owned(),
            subject: recalled.to_owned(),
            key: DedupKey::new(Timestamp::default(), &[recalled]),
            verdict: Verdict::Filtered,
            news: News::TakenBack(MessageId::new(recalled), None),
        };
        gateway.submit(Arrival::Notice(notice)).await.unwrap();
        gateway.recompose(&mut job).await;
        assert_eq!(job.row.message.content, left);
        assert_eq!(job.row.message.id.as_str(), "m1", "the turn is known by it");
    }
    gateway.end_if_withdrawn(&job);
    assert!(job.stop.is_ended());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_turn_that_is_still_open_said_is_known_at_start_as_the_bots_own() {
    let gateway = gateway(&Arc::new(Mouth::default()));
    let (turn, row) = (gateway.next_turn(), row_of_somebody(&gateway, "m1"));
    let bot = Arc::clone(&gateway.shared.bots[&row.bot]);
    let closing = ClosingV1 { verdict: Verdict::Answered, reason: String::new() };
    let (row, changes) = planned_closing(&bot, turn, row, closing, "hello".into()).unwrap();
    gateway.shared.store.commit(changes).await.unwrap();
    let (part, mut send) = gateway.shared.store.sends(turn).await.unwrap().remove(0);
    send.delivered_id = Some("om_out".to_owned());
    gateway.put_send(turn, part, &send).await.unwrap();
    let out = MessageId::new("om_out");
    assert!(gateway.withdrawn(&row.bot, &out).is_none());
    gateway.restore_spoken(&[(turn, row.clone())]).await.unwrap();
    assert_eq!(gateway.withdrawn(&row.bot, &out).unwrap().verdict, Verdict::Filtered);
}

#[path = "errand_tests.rs"]
mod errands;
