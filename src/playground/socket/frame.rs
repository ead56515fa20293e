//! The frame of the long connection in Protocol Buffers (3.3). Required fields are always written,
//! even if they are 0, and may be missing in what is read.

use prost::Message;

/// Pings and pongs.
pub(super) const CONTROL: i32 = 0;
/// Events, and their acknowledgements.
pub(super) const DATA: i32 = 1;

/// One frame.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Frame {
    #[prost(uint64, required, tag = "1")]
    pub(super) seq_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub(super) log_id: u64,
    #[prost(int32, required, tag = "3")]
    pub(super) service: i32,
    #[prost(int32, required, tag = "4")]
    pub(super) method: i32,
    #[prost(message, repeated, tag = "5")]
    pub(super) headers: Vec<Header>,
    #[prost(string, optional, tag = "6")]
    pub(super) payload_encoding: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub(super) payload_type: Option<String>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub(super) payload: Option<Vec<u8>>,
    #[prost(string, optional, tag = "9")]
    pub(super) log_id_new: Option<String>,
}

/// One header of a frame.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Header {
    #[prost(string, required, tag = "1")]
    pub(super) key: String,
    #[prost(string, required, tag = "2")]
    pub(super) value: String,
}

impl Header {
    pub(super) fn new(key: &str, value: impl Into<String>) -> Self {
        Self { key: key.to_owned(), value: value.into() }
    }
}

impl Frame {
    pub(super) fn header(&self, key: &str) -> Option<&str> {
        let found = self.headers.iter().find(|header| header.key == key);
        found.map(|header| header.value.as_str())
    }

    pub(super) fn pong(service: i32, payload: Option<Vec<u8>>) -> Self {
        Self {
            service,
            method: CONTROL,
            headers: vec![Header::new("type", "pong")],
            payload,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn frames_are_read_and_written_as_in_the_recorded_ones() {
        let vectors = include_str!("../../../tests/fixtures/feishu-vectors.json");
        let vectors: Value = serde_json::from_str(vectors).unwrap();
        let frames = vectors["ws"]["frames"].as_array().unwrap();
        assert!(frames.len() > 8);
        for recorded in frames {
            let bytes = hex::decode(recorded["hex"].as_str().unwrap()).unwrap();
            let frame = Frame::decode(bytes.as_slice()).unwrap();
            assert_eq!(frame.encode_to_vec(), bytes, "{}", recorded["name"]);
            let decoded = &recorded["decoded"];
            assert_eq!(frame.seq_id, decoded["SeqID"].as_u64().unwrap());
            assert_eq!(frame.header("type"), decoded["headers"][0][1].as_str());
            let payload = frame.payload.map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(payload.as_deref(), decoded["payload_utf8"].as_str());
        }
    }
}
