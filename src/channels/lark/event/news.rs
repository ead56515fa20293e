//! The events that are no messages and that somebody here acts on.

use serde::Deserialize;

use super::wire::{Text, WireIds, loose};
use super::{Opened, relation};
use crate::base::{ChatId, MessageId, UserId};
use crate::envelope::{ChatKind, Meeting, News};

/// Of all these events what is needed of one of them; what a type does not have is empty.
#[derive(Debug, Default, Deserialize)]
struct WireNews<'a> {
    #[serde(default, borrow, deserialize_with = "loose")]
    chat_id: Text<'a>,
    #[serde(default, borrow, deserialize_with = "loose")]
    message_id: Text<'a>,
    #[serde(default, borrow)]
    operator_id: Option<WireIds<'a>>,
    /// Of schema 1.0.
    #[serde(default, borrow)]
    operator: Option<WireIds<'a>>,
    #[serde(default, borrow, deserialize_with = "loose")]
    operator_tenant_key: Text<'a>,
}

/// What an event tells. One that lacks what nothing can be done without tells nothing.
pub(super) fn news(opened: &Opened<'_>) -> News {
    let found = match opened.head.event_type.as_deref() {
        Some("im.chat.member.bot.added_v1") => met(opened, ChatKind::Group),
        Some("im.chat.access_event.bot_p2p_chat_entered_v1" | "p2p_chat_create") => {
            met(opened, ChatKind::Private)
        }
        Some("im.chat.member.bot.deleted_v1" | "im.chat.disbanded_v1") => {
            wire(opened).chat_id.map(|chat| News::Parted(ChatId::new(chat)))
        }
        Some("im.message.recalled_v1") => {
            let wire = wire(opened);
            let chat = wire.chat_id.map(ChatId::new);
            wire.message_id.map(|message| News::TakenBack(MessageId::new(message), chat))
        }
        Some(_) | None => None,
    };
    found.unwrap_or(News::Nothing)
}

fn wire<'a>(opened: &'a Opened<'_>) -> WireNews<'a> {
    WireNews::deserialize(&opened.event).unwrap_or_default()
}

fn met(opened: &Opened<'_>, chat_kind: ChatKind) -> Option<News> {
    let wire = wire(opened);
    let person = wire.operator_id.or(wire.operator).unwrap_or_default();
    let own_tenant = opened.head.tenant_key.as_deref();
    let tenant = wire.operator_tenant_key.as_deref();
    Some(News::Met(Meeting {
        chat: ChatId::new(wire.chat_id?),
        chat_kind,
        person: UserId::new(person.best()?),
        relation: relation(own_tenant, tenant, person.user_id.as_deref()),
    }))
}
