//! One event on its way: posted to an address, or sent over a long connection.

use serde_json::Value;

use super::{PushRecord, Signed, post, sign_event};
use crate::base::Timestamp;
use crate::playground::people::PlaygroundError;
use crate::playground::settings::Transport;
use crate::playground::socket::{self, FrameKind};
use crate::playground::state::{Shared, State};
use crate::playground::world::App;

/// What an app is handed, and in which way.
#[derive(Debug)]
pub(crate) enum Parcel {
    Webhook { url: String, signed: Signed },
    Socket { app: Box<App>, kind: FrameKind, payload: Vec<u8> },
}

impl Parcel {
    /// An event, packed as its app has it.
    pub(crate) fn of_event(
        state: &mut State,
        app: &App,
        event: &Value,
        now: Timestamp,
    ) -> Result<Self, PlaygroundError> {
        match app.transport {
            Transport::Websocket => Ok(Self::plain(app, FrameKind::Event, event.to_string())),
            Transport::Webhook => {
                let signed = sign_event(&mut state.dice, app, event, now);
                Ok(Self::Webhook { url: event_url(app)?, signed })
            }
        }
    }

    /// What comes back undelivered: the app has no address any more.
    pub(crate) fn to_nobody() -> Self {
        Self::Webhook { url: String::new(), signed: Signed::default() }
    }

    /// A payload as it stands, over a long connection: never encrypted, never signed.
    pub(crate) fn plain(app: &App, kind: FrameKind, payload: String) -> Self {
        Self::Socket { app: Box::new(app.clone()), kind, payload: payload.into_bytes() }
    }
}

/// Where the events of an app are posted.
pub(crate) fn event_url(app: &App) -> Result<String, PlaygroundError> {
    let missing = || PlaygroundError::Bad("the app has no event URL".to_owned());
    app.event_url.clone().ok_or_else(missing)
}

/// Hands a parcel over and waits for the answer.
pub(crate) async fn carry(shared: &Shared, parcel: Parcel) -> PushRecord {
    match parcel {
        Parcel::Webhook { url, signed } => {
            post(shared, &url, signed, shared.settings.push_patience).await
        }
        Parcel::Socket { app, kind, payload } => {
            socket::deliver(shared, &app, kind, &payload).await
        }
    }
}
