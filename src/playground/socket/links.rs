//! The connections that are open, the tickets for further ones, the acknowledgements awaited.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use crate::base::Timestamp;
use crate::playground::dice::Dice;
use crate::playground::limits::{SOCKET_CONNECTIONS, SOCKET_IDLE, SOCKET_LIFE, SOCKET_TICKET_LIFE};
use crate::playground::settings::ClientConfig;
use crate::playground::switches::SocketEnd;

/// How many orders may wait for one connection.
const ORDERS_MAX: usize = 4_096;
/// How many tickets may be out; the rest must have been used or be too old.
const TICKETS_MAX: usize = 10_000;

/// How a connection is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Break {
    /// In good order.
    Close,
    /// Without a word.
    Abort,
    /// The platform neither reads nor writes any more, and does not close. Events still go this
    /// way, until the app opens another connection.
    Freeze,
}

/// What a connection's task has to do.
#[derive(Debug)]
pub(super) enum Order {
    Send(Vec<Vec<u8>>),
    Break(Break),
}

/// A connection as the control API shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// The connection's own id.
    pub device_id: String,
    /// The app that opened it.
    pub app_id: String,
    /// Since when, on the simulator's clock, in milliseconds.
    pub opened_ms: u64,
    /// When its last frame came in, on the simulator's clock, in milliseconds. A pong of the
    /// WebSocket's own is none.
    pub heard_ms: u64,
    /// Whether it is half-open.
    pub frozen: bool,
    /// How many events were sent over it.
    pub events: u64,
    /// How many acknowledgements came in for events that waited for them.
    pub acks: u64,
    /// How many pings came in.
    pub pings: u64,
    /// How many frames came in that mean nothing here.
    pub strays: u64,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) shown: Connection,
    pub(super) told: ClientConfig,
    orders: mpsc::Sender<Order>,
    seq_id: u64,
}

#[derive(Debug)]
struct Ticket {
    app_id: String,
    device_id: String,
    told: ClientConfig,
    ends: Timestamp,
}

/// Everything about long connections that changes.
#[derive(Debug, Default)]
pub(crate) struct Links {
    tickets: HashMap<String, Ticket>,
    open: BTreeMap<u64, Link>,
    awaited: HashMap<(u64, String), oneshot::Sender<Vec<u8>>>,
    opened: u64,
}

/// Why there is no further connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    Ticket,
    TooMany,
}

impl Links {
    /// A ticket for one connection, and the connection's id.
    pub(super) fn ticket(
        &mut self,
        app_id: &str,
        told: ClientConfig,
        dice: &mut Dice,
        now: Timestamp,
    ) -> (String, String) {
        self.tickets.retain(|_, ticket| ticket.ends > now);
        if self.tickets.len() >= TICKETS_MAX {
            self.tickets.clear();
        }
        let ends = now.after(SOCKET_TICKET_LIFE.seconds());
        let drawn = u128::from_be_bytes(dice.bytes()) % 1_000_000_000_000_000_000;
        let device_id = format!("7{drawn:018}");
        let ticket = Ticket { app_id: app_id.to_owned(), device_id: device_id.clone(), told, ends };
        let secret = dice.hex();
        self.tickets.insert(secret.clone(), ticket);
        (secret, device_id)
    }

    /// Opens a connection for a ticket, which is used up. Half-open ones of the same app end.
    pub(super) fn open(
        &mut self,
        secret: &str,
        device_id: &str,
        now: Timestamp,
    ) -> Result<(u64, mpsc::Receiver<Order>), Denied> {
        let ticket = self.tickets.remove(secret).filter(|ticket| ticket.ends > now);
        let ticket = ticket.filter(|ticket| ticket.device_id == device_id).ok_or(Denied::Ticket)?;
        let app_id = ticket.app_id;
        self.retain(|link| link.shown.app_id != app_id || !link.shown.frozen);
        if u64::try_from(self.of_app(&app_id).len()).unwrap_or(u64::MAX) >= SOCKET_CONNECTIONS.most
        {
            return Err(Denied::TooMany);
        }
        let (orders, received) = mpsc::channel(ORDERS_MAX);
        let shown = Connection {
            device_id: ticket.device_id,
            app_id,
            opened_ms: now.as_millis(),
            heard_ms: now.as_millis(),
            frozen: false,
            events: 0,
            acks: 0,
            pings: 0,
            strays: 0,
        };
        self.opened += 1;
        self.open.insert(self.opened, Link { shown, told: ticket.told, orders, seq_id: 0 });
        Ok((self.opened, received))
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.open.remove(&id);
        self.forget_lost();
    }

    fn retain(&mut self, keeps: impl Fn(&Link) -> bool) {
        self.open.retain(|_, link| keeps(link));
        self.forget_lost();
    }

    /// Whoever waits for an acknowledgement from a connection that is gone waits no longer.
    fn forget_lost(&mut self) {
        let open = &self.open;
        self.awaited.retain(|(id, _), _| open.contains_key(id));
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Link> {
        self.open.get_mut(&id)
    }

    fn of_app(&self, app_id: &str) -> Vec<u64> {
        let links = self.open.iter().filter(|(_, link)| link.shown.app_id == app_id);
        links.map(|(id, _)| *id).collect()
    }

    /// One connection of the app, drawn at random.
    pub(super) fn draw(&self, app_id: &str, dice: &mut Dice) -> Option<u64> {
        let links = self.of_app(app_id);
        links.get(dice.below(links.len())).copied()
    }

    /// Where the acknowledgement of an event will come in.
    pub(super) fn wait_for(&mut self, id: u64, message_id: &str) -> oneshot::Receiver<Vec<u8>> {
        let (sender, receiver) = oneshot::channel();
        self.awaited.insert((id, message_id.to_owned()), sender);
        receiver
    }

    pub(super) fn forget(&mut self, id: u64, message_id: &str) {
        self.awaited.remove(&(id, message_id.to_owned()));
    }

    /// An acknowledgement came in; whether somebody waited for it.
    pub(super) fn acknowledged(&mut self, id: u64, message_id: &str, payload: Vec<u8>) -> bool {
        let sender = self.awaited.remove(&(id, message_id.to_owned()));
        sender.is_some_and(|sender| sender.send(payload).is_ok())
    }

    /// Breaks connections; how many.
    pub(crate) fn break_all(
        &mut self,
        app_id: Option<&str>,
        device_id: Option<&str>,
        how: Break,
    ) -> usize {
        let mut broken = 0;
        for link in self.open.values_mut() {
            let is_meant = app_id.is_none_or(|app_id| link.shown.app_id == app_id)
                && device_id.is_none_or(|device_id| link.shown.device_id == device_id);
            if is_meant {
                link.order_break(how);
                broken += 1;
            }
        }
        broken
    }

    /// Closes what is idle or old; whether there will be something to look at again.
    pub(super) fn end_old(&mut self, end: SocketEnd, now_ms: u64) -> bool {
        let age = |since_ms: u64| Duration::from_millis(now_ms.saturating_sub(since_ms));
        for link in self.open.values_mut() {
            let is_over = match end {
                SocketEnd::Never => false,
                SocketEnd::Idle => age(link.shown.heard_ms) > SOCKET_IDLE.seconds(),
                SocketEnd::Rotated => age(link.shown.opened_ms) > SOCKET_LIFE.seconds(),
            };
            if is_over {
                link.order_break(Break::Close);
            }
        }
        end != SocketEnd::Never && !self.open.is_empty()
    }

    pub(crate) fn shown(&self) -> Vec<Connection> {
        self.open.values().map(|link| link.shown.clone()).collect()
    }
}

impl Link {
    pub(super) fn next_seq_id(&mut self) -> u64 {
        self.seq_id += 1;
        self.seq_id
    }

    /// Whether the order was taken.
    pub(super) fn order(&self, order: Order) -> bool {
        self.orders.try_send(order).is_ok()
    }

    pub(super) fn order_break(&mut self, how: Break) {
        self.shown.frozen |= how == Break::Freeze;
        // One whose queue is full is broken as it is.
        self.order(Order::Break(how));
    }
}
