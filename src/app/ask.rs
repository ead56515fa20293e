//! One question in the terminal, answered by a gateway of its own that remembers nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::build::{AppError, Parts, TestSupport};
use super::models::Models;
use crate::base::{BotName, MessageId, Verdict};
use crate::bots::BotDefinition;
use crate::channels::terminal::{TerminalOutlet, incoming, sender};
use crate::config::{Environment, Loaded, Settings, StoreEngine};
use crate::envelope::{AgentMessage, Arrival, Channel, Control, Inlet, Outlet, Submitted};
use crate::gateway::{Gateway, GatewayDeps};
use crate::routing::Classifier;
use crate::task::TaskSet;
use crate::telemetry::CallMeter;

/// After the answer the gateway may take this long to close its books.
const CLOSING_PATIENCE: Duration = Duration::from_secs(2);

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the bot said.
    pub text: String,
    /// What became of the turn.
    pub verdict: Verdict,
    /// Details; may be empty.
    pub reason: String,
}

/// Asks a bot of the configuration: the named one, else the first, else a plain one.
///
/// # Errors
/// The bot does not exist or cannot be built, or no answer came.
pub async fn ask(
    loaded: Loaded,
    environment: &Environment,
    bot: Option<&str>,
    question: &str,
) -> Result<Answer, AppError> {
    let mut definition = choose(&loaded, bot)?;
    definition.access.admins.push(sender().to_string());
    let settings = Settings { store: StoreEngine::Memory, ..loaded.settings };
    let support = TestSupport::from_environment(environment);
    let clock = support.clock();
    let cancel = CancellationToken::new();
    let tasks = TaskSet::new("ask", cancel.clone());
    let models = Models::new(&settings, &clock)?;
    let parts = Parts {
        settings: &settings,
        models: &models,
        tasks: &tasks,
        clock: &clock,
        faults: &support.faults,
    };
    let (outlet, mut answers) = TerminalOutlet::new();
    let outlet: Arc<dyn Outlet> = Arc::new(outlet);
    let ways = HashMap::from([(Channel::Cli, outlet)]);
    let runtime = parts.bot(&definition, ways, HashMap::new());
    let deps = GatewayDeps {
        store: parts.store()?,
        clock: Arc::clone(&clock),
        tasks: tasks.clone(),
        classifier: Classifier::default(),
        faults: support.faults.clone(),
        meter: CallMeter::default(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let gateway = Gateway::new(deps, vec![runtime]);

    let id = MessageId::new(Uuid::new_v4().to_string());
    let name = BotName::new(definition.name.clone());
    let message = AgentMessage::from_cli(name, id.clone(), question.trim()).sent_at(clock.now());
    let arrival = Arrival::Message(Box::new(incoming(message)));
    let answer = match gateway.submit(arrival).await {
        Ok(Submitted::Accepted(_)) => answers.recv().await,
        Ok(Submitted::Duplicate | Submitted::NoWork(_)) | Err(_) => None,
    };
    // Only now: a drain would have paused the run.
    cancel.cancel();
    tasks.join(CLOSING_PATIENCE).await;
    let text = answer.ok_or(AppError::NoAnswer)?;
    let why = gateway.why(&id).await.map_err(|_unavailable| AppError::NoAnswer)?;
    Ok(Answer { text, verdict: why.verdict, reason: why.reason })
}

fn choose(loaded: &Loaded, bot: Option<&str>) -> Result<BotDefinition, AppError> {
    let mut bots = loaded.bots.iter();
    let found = match bot {
        Some(name) => Some(
            bots.find(|bot| bot.name == name)
                .ok_or_else(|| AppError::NoSuchBot(name.to_owned()))?,
        ),
        None => bots.next(),
    };
    Ok(found.cloned().unwrap_or_else(|| BotDefinition::plain("assistant")))
}
