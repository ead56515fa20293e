//! What the fuzz targets feed: the parsers of foreign input, each behind one function.
//!
//! None may panic, whatever comes. What a parser promises beyond that is asserted here.

use super::content::render;
use super::crypto::EnvelopeKey;
use super::event::{Opened, Receiver, decode, decode_stale};
use super::socket::config::ClientConfig;
use super::socket::fragments::Fragments;
use super::socket::frame::Frame;
use crate::base::{BotName, Secret, Timestamp, UserId};

/// A body as it comes off the wire or out of an envelope.
pub fn event(body: &[u8]) {
    let bot = BotName::new("assistant");
    let own = UserId::new("ou_7d8ab35462c56ebb06618cc2950362a1");
    let receiver = Receiver { bot: &bot, app_id: "cli_a1b2c3d4e5f60718", own: Some(&own) };
    for decoder in [decode, decode_stale] {
        if let Some(opened) = Opened::parse(body) {
            drop(decoder(opened, receiver));
        }
    }
}

/// An encrypted envelope under a fixed key.
pub fn decrypt(envelope: &str) {
    let key = EnvelopeKey::derive(&Secret::new("kX9fQ2mB7rT4vZ1nC6wL3pHd"));
    drop(key.open(envelope));
}

/// A frame of the long connection, and whatever can be said about it. What was read is read again
/// the same after it was written.
pub fn frame(bytes: &[u8]) {
    let Some(frame) = Frame::read(bytes.to_vec().into()) else { return };
    assert_eq!(Frame::read(frame.write()).as_ref(), Some(&frame));
    let mut fragments = Fragments::default();
    let now = Timestamp::default();
    if let Some(piece) = frame.piece() {
        let payload = frame.payload.clone().unwrap_or_default();
        drop(fragments.add(piece, payload, now));
    }
    if let Some(payload) = &frame.payload {
        assert!(ClientConfig::read(payload).is_none_or(ClientConfig::is_sound));
    }
    assert!(Frame::read(frame.clone().answer(Vec::new().into(), 1).write()).is_some());
}

/// The content of a message: its type on the first line, the rest is the content.
pub fn content(text: &str) {
    let (kind, content) = text.split_once('\n').unwrap_or(("text", text));
    let rendered = render(kind, content, &[], None);
    assert!(!rendered.text.contains('\0'), "no control character reaches people");
}
