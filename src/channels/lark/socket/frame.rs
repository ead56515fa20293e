//! The binary frames of the long connection, by the platform's own schema.
//!
//! All four numbers are always written, zero as well; a frame that lacks some is read all the
//! same, and what is unknown in it is passed over.

use prost::Message;
use prost::bytes::Bytes;

const HEADER_TYPE: &str = "type";
const HEADER_MESSAGE_ID: &str = "message_id";
const HEADER_SUM: &str = "sum";
const HEADER_SEQ: &str = "seq";
/// How long an event was worked on, in milliseconds.
const HEADER_ELAPSED: &str = "biz_rt";

const METHOD_CONTROL: i32 = 0;
const METHOD_DATA: i32 = 1;

/// One frame.
#[derive(Clone, PartialEq, Message)]
pub(in crate::channels::lark) struct Frame {
    /// A counter of the server's; 0 in pings.
    #[prost(uint64, required, tag = "1")]
    pub(super) seq_id: u64,
    /// Over 2^53: never to pass through a floating point number.
    #[prost(uint64, required, tag = "2")]
    pub(super) log_id: u64,
    /// From the address of the connection.
    #[prost(int32, required, tag = "3")]
    pub(super) service: i32,
    /// Control or data.
    #[prost(int32, required, tag = "4")]
    pub(super) method: i32,
    #[prost(message, repeated, tag = "5")]
    pub(super) headers: Vec<Header>,
    #[prost(string, optional, tag = "6")]
    pub(super) payload_encoding: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub(super) payload_type: Option<String>,
    #[prost(bytes = "bytes", optional, tag = "8")]
    pub(in crate::channels::lark) payload: Option<Bytes>,
    #[prost(string, optional, tag = "9")]
    pub(super) log_id_new: Option<String>,
}

/// A name and a value, both texts. They stay where they came: all go back with the answer, and few
/// are read.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", required, tag = "2")]
    pub(super) value: Bytes,
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The server answers a ping.
    Pong,
    /// Another word about the connection.
    Control,
    /// An event or a press, or a piece of one.
    Event,
    /// Data of a type that nobody knows.
    UnknownData,
    /// Neither control nor data.
    Unknown,
}

/// The place of a frame in its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::channels::lark) struct Piece<'a> {
    /// The event's id on this connection.
    pub(super) message_id: &'a str,
    /// How many frames the event has.
    pub(super) sum: usize,
    /// Which one this is, from 0.
    pub(super) seq: usize,
}

impl Frame {
    /// Reads a frame; `None` if it is none.
    pub(in crate::channels::lark) fn read(bytes: Bytes) -> Option<Self> {
        // Room for the headers of an event and one more in its answer.
        let mut frame = Self { headers: Vec::with_capacity(8), ..Self::default() };
        frame.merge(bytes).is_ok().then_some(frame)
    }

    /// A ping of the client's.
    pub(super) fn ping(service: i32) -> Self {
        let headers = vec![Header::new(HEADER_TYPE, "ping")];
        Self { service, method: METHOD_CONTROL, headers, ..Self::default() }
    }

    /// The bytes on the wire.
    pub(in crate::channels::lark) fn write(&self) -> Bytes {
        self.encode_to_vec().into()
    }

    /// Data as the server sends it.
    #[cfg(any(test, feature = "test-support"))]
    pub(in crate::channels::lark) fn data(
        seq_id: u64,
        headers: &[(&str, &str)],
        payload: &str,
    ) -> Self {
        Self {
            seq_id,
            log_id: u64::MAX,
            method: METHOD_DATA,
            headers: headers.iter().map(|(key, value)| Header::new(key, value)).collect(),
            payload: Some(payload.to_owned().into()),
            ..Self::default()
        }
    }

    /// What it is for. Callbacks of cards come as `card` where their subscription has not been
    /// published, and as `event` where it has.
    pub(super) fn kind(&self) -> Kind {
        match (self.method, self.header(HEADER_TYPE)) {
            (METHOD_CONTROL, Some("pong")) => Kind::Pong,
            (METHOD_CONTROL, _) => Kind::Control,
            (METHOD_DATA, Some("event" | "card")) => Kind::Event,
            (METHOD_DATA, _) => Kind::UnknownData,
            _ => Kind::Unknown,
        }
    }

    /// Its place among the frames of its event; `None`: it is the only one. A number that is none
    /// is beyond all limits.
    pub(in crate::channels::lark) fn piece(&self) -> Option<Piece<'_>> {
        let number = |name, default| {
            self.header(name).map_or(default, |text| text.parse().unwrap_or(usize::MAX))
        };
        let (sum, seq) = (number(HEADER_SUM, 1), number(HEADER_SEQ, 0));
        let message_id = self.header(HEADER_MESSAGE_ID).unwrap_or_default();
        (sum > 1).then_some(Piece { message_id, sum, seq })
    }

    /// The answer to this frame: the same with another payload.
    pub(in crate::channels::lark) fn answer(mut self, payload: Bytes, elapsed_ms: u64) -> Self {
        let elapsed = Bytes::from(elapsed_ms.to_string());
        self.headers
            .push(Header { key: Bytes::from_static(HEADER_ELAPSED.as_bytes()), value: elapsed });
        self.payload = Some(payload);
        self
    }

    fn header(&self, key: &str) -> Option<&str> {
        let found = self.headers.iter().find(|header| header.key == key);
        found.and_then(|header| std::str::from_utf8(&header.value).ok())
    }
}

impl Header {
    fn new(key: &str, value: &str) -> Self {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        Self { key: bytes(key), value: bytes(value) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::super::testing::vectors;
    use super::*;

    fn bytes(hex: &Value) -> Bytes {
        hex::decode(hex.as_str().unwrap()).unwrap().into()
    }

    fn vector(name: &str) -> Bytes {
        let vectors = vectors();
        let frames = vectors["ws"]["frames"].as_array().unwrap();
        bytes(&frames.iter().find(|frame| frame["name"] == name).unwrap()["hex"])
    }

    #[test]
    fn every_recorded_frame_is_read_and_written_again_byte_by_byte() {
        let vectors = vectors();
        let frames = vectors["ws"]["frames"].as_array().unwrap();
        assert!(frames.len() > 8, "{}", frames.len());
        for vector in frames {
            let name = vector["name"].as_str().unwrap();
            let wire = bytes(&vector["hex"]);
            let frame = Frame::read(wire.clone()).unwrap();
            assert_eq!(frame.write(), wire, "{name}");
            let decoded = &vector["decoded"];
            assert_eq!(frame.seq_id, decoded["SeqID"].as_u64().unwrap(), "{name}");
            assert_eq!(frame.service, 33_554_678, "{name}");
            let text = |bytes| std::str::from_utf8(bytes).unwrap();
            let headers: Vec<[&str; 2]> = frame
                .headers
                .iter()
                .map(|header| [text(&header.key), text(&header.value)])
                .collect();
            assert_eq!(serde_json::json!(headers), decoded["headers"], "{name}");
            let payload = frame.payload.map(|payload| String::from_utf8(payload.to_vec()).unwrap());
            assert_eq!(payload.as_deref(), decoded["payload_utf8"].as_str(), "{name}");
        }
    }

    #[test]
    fn a_log_id_beyond_the_numbers_of_javascript_is_kept() {
        assert_eq!(Frame::read(vector("event_message")).unwrap().log_id, 7_012_345_678_901_234_567);
    }

    #[test]
    fn a_ping_is_what_the_official_clients_send() {
        assert_eq!(Frame::ping(33_554_678).write(), vector("ping"));
    }

    #[test]
    fn answers_are_those_of_the_official_clients() {
        let event = || Frame::read(vector("event_message")).unwrap();
        let answer = event().answer(Bytes::from_static(b"{\"code\":200}"), 5);
        assert_eq!(answer.write(), vector("ack_ok_minimal"));
        let answer = event().answer(Bytes::from_static(b"{\"code\":500}"), 5);
        assert_eq!(answer.write(), vector("ack_error"));
    }

    #[test]
    fn what_the_schema_does_not_know_is_passed_over_and_what_it_misses_is_zero() {
        let vectors = vectors();
        let kinds: Vec<(&str, Option<Kind>)> = vectors["ws"]["malformed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|vector| {
                let frame = Frame::read(bytes(&vector["hex"]));
                (vector["name"].as_str().unwrap(), frame.map(|frame| frame.kind()))
            })
            .collect();
        let expected = [
            ("missing_required_fields", Some(Kind::Control)),
            ("truncated", None),
            ("unknown_method_7", Some(Kind::Unknown)),
            ("unknown_field_15", Some(Kind::Pong)),
            ("negative_service", Some(Kind::Pong)),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_frame_says_what_it_is_for_and_where_it_belongs() {
        let kind = |name: &str| Frame::read(vector(name)).unwrap().kind();
        assert_eq!(kind("pong_with_config"), Kind::Pong);
        assert_eq!(kind("ping"), Kind::Control);
        assert_eq!(kind("event_message"), Kind::Event);
        assert_eq!(kind("card_action_as_card"), Kind::Event);
        let with = |headers: &[(&str, &str)]| Frame {
            method: METHOD_DATA,
            headers: headers.iter().map(|(key, value)| Header::new(key, value)).collect(),
            ..Frame::default()
        };
        assert_eq!(with(&[("type", "new")]).kind(), Kind::UnknownData);
        assert_eq!(with(&[("sum", "1"), ("seq", "0")]).piece(), None);
        assert_eq!(with(&[]).piece(), None);
        let piece = with(&[("message_id", "m"), ("sum", "3"), ("seq", "2")]);
        assert_eq!(piece.piece(), Some(Piece { message_id: "m", sum: 3, seq: 2 }));
        let wrong = with(&[("sum", "-1")]);
        assert_eq!(wrong.piece(), Some(Piece { message_id: "", sum: usize::MAX, seq: 0 }));
    }
}
