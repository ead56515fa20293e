//! One connection, from the address to its end: hear, answer, ping, notice that nobody is there.
//!
//! Every write has a time limit, and silence has one. Nothing that a message causes ends the
//! connection.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, SinkExt, StreamExt};
use prost::bytes::Bytes;
use tokio::time::{MissedTickBehavior, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::LinkDeps;
use super::config::ClientConfig;
use super::discovery::{Address, Trouble, rejection};
use super::frame::Frame;
use super::reception::Reception;
use super::vitals::{Pulse, Vitals};
use crate::base::limit::one_line;
use crate::channels::lark::bot::LarkBot;
use crate::net::Stream;

/// The server's answer to the handshake comes within this.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// A write that takes longer is taken for a connection that hangs.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// At the end of the daemon, answers to events that were taken are waited for so long.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(5);
/// And so long for the server to say goodbye.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// The longest message of the server's, in bytes.
const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Kept for reading and for writing, each, in bytes; a bot's connection is idle most of the time.
const BUFFER_BYTES: usize = 16 * 1024;
/// The most that waits to be written, in bytes.
const WRITE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest reason that is kept, in characters.
const REASON_CHARS_MAX: usize = 200;

type Socket = WebSocketStream<Stream>;

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Lost {
    /// The server ended it.
    #[error("the server closed it{0}")]
    Closed(String),
    /// It broke.
    #[error("it broke: {0}")]
    Broken(String),
    /// A write did not get through.
    #[error("nothing can be sent any more")]
    Stuck,
    /// Nothing came in for too long.
    #[error("nothing was heard for too long")]
    Silent,
    /// Time jumped.
    #[error("the clock has jumped: the machine slept, or was set")]
    Jumped,
    /// The daemon ends.
    #[error("the daemon is draining")]
    Drained,
}

/// A connection that stands.
pub(super) struct Connection<'a> {
    deps: &'a LinkDeps,
    bot: &'a LarkBot,
    socket: Socket,
    service: i32,
    config: &'a mut ClientConfig,
    vitals: Vitals,
    reception: Reception,
}

impl<'a> Connection<'a> {
    /// Connects. What the server wants of its clients is kept in `config`.
    pub(super) async fn open(
        deps: &'a LinkDeps,
        bot: &'a Arc<LarkBot>,
        address: Address,
        config: &'a mut ClientConfig,
    ) -> Result<Self, Trouble> {
        *config = address.config;
        let stream = deps.http.dial(&address.url).await.map_err(Trouble::passing)?;
        let limits = WebSocketConfig::default()
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(BUFFER_BYTES)
            .max_write_buffer_size(WRITE_BYTES_MAX)
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let shaking = client_async_with_config(address.url.as_str(), stream, Some(limits));
        let socket = match timeout(HANDSHAKE_PATIENCE, shaking).await {
            Ok(Ok((socket, _response))) => socket,
            Ok(Err(error)) => return Err(refused(&error)),
            Err(_elapsed) => return Err(Trouble::passing("no answer to the handshake in time")),
        };
        let reception = Reception::new(
            Arc::clone(bot),
            Arc::clone(&deps.inlet),
            Arc::clone(&deps.clock),
            deps.tasks.clone(),
        );
        let vitals = Vitals::new(deps.clock.now());
        Ok(Self { deps, bot, socket, service: address.service, config, vitals, reception })
    }

    /// Serves it to its end.
    pub(super) async fn serve(mut self) -> Lost {
        let drain = self.deps.tasks.cancellation().clone();
        let mut pulse = tokio::time::interval(self.deps.pulse);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let served = tokio::select! {
                biased;
                () = drain.cancelled() => return self.farewell().await,
                _ = pulse.tick() => self.beat().await,
                answer = self.reception.next_answer() => self.answer(answer).await,
                message = self.socket.next(), if !self.reception.is_full() => self.hear(message),
            };
            if let Err(lost) = served {
                return lost;
            }
        }
    }

    async fn beat(&mut self) -> Result<(), Lost> {
        match self.vitals.look(self.deps.clock.now(), self.config.ping_interval) {
            Pulse::Fine => Ok(()),
            Pulse::Ping => self.send(Frame::ping(self.service).write()).await,
            Pulse::Silent => Err(Lost::Silent),
            Pulse::Jumped => Err(Lost::Jumped),
        }
    }

    /// Pings of the WebSocket itself are answered below, when the next message is waited for.
    fn hear(&mut self, message: Option<Result<Message, WsError>>) -> Result<(), Lost> {
        self.vitals.heard(self.deps.clock.now());
        if let Some(link) = self.bot.link_cell() {
            link.heard();
        }
        match message {
            Some(Ok(Message::Binary(frame))) => {
                if let Some(config) = self.reception.receive(frame) {
                    *self.config = config;
                }
                Ok(())
            }
            Some(Ok(Message::Close(said))) => {
                Err(Lost::Closed(said.map_or_else(String::new, |said| {
                    format!(" ({} {})", said.code, one_line(&said.reason, REASON_CHARS_MAX))
                })))
            }
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(broken(&error)),
            None => Err(Lost::Closed(String::new())),
        }
    }

    /// Sends an answer and all others that are ready, together.
    async fn answer(&mut self, answer: Bytes) -> Result<(), Lost> {
        // While the reception was full nothing could be heard: no reason to hang up.
        if self.reception.is_full() {
            self.vitals.heard(self.deps.clock.now());
        }
        let mut next = Some(answer);
        let writing = async {
            while let Some(answer) = next {
                self.socket.feed(Message::Binary(answer)).await?;
                next = self.reception.next_answer().now_or_never();
            }
            self.socket.flush().await
        };
        written(timeout(WRITE_PATIENCE, writing).await)
    }

    async fn send(&mut self, frame: Bytes) -> Result<(), Lost> {
        written(timeout(WRITE_PATIENCE, self.socket.send(Message::Binary(frame))).await)
    }

    /// Answers what was taken, and says goodbye.
    async fn farewell(&mut self) -> Lost {
        let answering = async {
            while self.reception.in_work() > 0 {
                let answer = self.reception.next_answer().await;
                self.answer(answer).await?;
            }
            Ok::<(), Lost>(())
        };
        let answered = timeout(FAREWELL_PATIENCE, answering).await;
        if matches!(answered, Ok(Err(_))) {
            return Lost::Drained;
        }
        let closing = async {
            if self.socket.close(None).await.is_ok() {
                while let Some(Ok(_)) = self.socket.next().await {}
            }
        };
        // Whoever does not answer a goodbye has heard it, or is gone.
        timeout(CLOSE_PATIENCE, closing).await.unwrap_or_default();
        Lost::Drained
    }
}

fn written(outcome: Result<Result<(), WsError>, tokio::time::error::Elapsed>) -> Result<(), Lost> {
    match outcome {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(broken(&error)),
        Err(_elapsed) => Err(Lost::Stuck),
    }
}

fn broken(error: &WsError) -> Lost {
    Lost::Broken(one_line(&error.to_string(), REASON_CHARS_MAX))
}

/// Why there is no WebSocket.
fn refused(error: &WsError) -> Trouble {
    match error {
        WsError::Http(response) => {
            let headers = response.headers();
            let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
            rejection(response.status().as_u16(), said)
        }
        error => Trouble::passing(format!("the handshake failed: {error}")),
    }
}
