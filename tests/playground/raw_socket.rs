//! A client of the long connection that knows the wire format by heart: its frames are read and
//! written by hand, not by what the playground uses.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use larkspur::playground::Playground;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::support::{Client, PATIENCE};

pub(crate) const APP: &str = "cli_a1b2c3d4e5f60718";
pub(crate) const SECRET: &str = "playground-app-secret";

/// A frame as it came, with the parts that tests look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawFrame {
    pub(crate) seq_id: u64,
    pub(crate) log_id: u64,
    pub(crate) service: u64,
    pub(crate) method: u64,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) payload: Option<Vec<u8>>,
    pub(crate) log_id_new: Option<String>,
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap());
}

fn push_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    push_varint(out, u64::try_from(bytes.len()).unwrap());
    out.extend_from_slice(bytes);
}

/// Every field of a message: its number, and its number or its bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        match key & 7 {
            0 => found.push((key >> 3, varint(&mut bytes), Vec::new())),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                found.push((key >> 3, 0, bytes[..length].to_vec()));
                bytes = &bytes[length..];
            }
            other => panic!("wire type {other}"),
        }
    }
    found
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

impl RawFrame {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut frame = Self::default();
        for (number, value, bytes) in fields(bytes) {
            match number {
                1 => frame.seq_id = value,
                2 => frame.log_id = value,
                3 => frame.service = value,
                4 => frame.method = value,
                5 => {
                    let mut parts = fields(&bytes).into_iter().map(|(_, _, bytes)| text(bytes));
                    frame.headers.push((parts.next().unwrap(), parts.next().unwrap()));
                }
                8 => frame.payload = Some(bytes),
                9 => frame.log_id_new = Some(text(bytes)),
                other => panic!("field {other}"),
            }
        }
        frame
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, value) in
            [self.seq_id, self.log_id, self.service, self.method].iter().enumerate()
        {
            out.push(u8::try_from(number + 1).unwrap() << 3);
            push_varint(&mut out, *value);
        }
        for (key, value) in &self.headers {
            let mut header = Vec::new();
            push_bytes(&mut header, 1, key.as_bytes());
            push_bytes(&mut header, 2, value.as_bytes());
            push_bytes(&mut out, 5, &header);
        }
        if let Some(payload) = &self.payload {
            push_bytes(&mut out, 8, payload);
        }
        if let Some(log_id) = &self.log_id_new {
            push_bytes(&mut out, 9, log_id.as_bytes());
        }
        out
    }

    pub(crate) fn header(&self, key: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == key);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(self.payload.as_deref().unwrap_or_default()).unwrap_or(Value::Null)
    }
}

/// What a discovery answers.
pub(crate) async fn discover(sim: &Playground, app_id: &str, secret: &str) -> Value {
    let body = json!({"AppID": app_id, "AppSecret": secret});
    let client = Client::anonymous(sim);
    client.call("POST", "/callback/ws/endpoint", Some(&body)).await.json
}

/// Why a connection did not come about: the HTTP status, and the three headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejected {
    pub(crate) status: u16,
    pub(crate) handshake_status: String,
    pub(crate) code: String,
}

/// An open connection.
pub(crate) struct RawClient {
    socket: WebSocketStream<TcpStream>,
    pub(crate) device_id: String,
    pub(crate) service: u64,
    pub(crate) told: Value,
    pieces: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
}

impl RawClient {
    pub(crate) async fn open(sim: &Playground) -> Self {
        Self::open_as(sim, APP, SECRET).await
    }

    pub(crate) async fn open_as(sim: &Playground, app_id: &str, secret: &str) -> Self {
        let found = discover(sim, app_id, secret).await;
        assert_eq!(found["code"], 0, "{found}");
        let mut client = Self::at(sim, found["data"]["URL"].as_str().unwrap()).await.unwrap();
        client.told = found["data"]["ClientConfig"].clone();
        client
    }

    pub(crate) async fn at(sim: &Playground, address: &str) -> Result<Self, Rejected> {
        let stream = TcpStream::connect(sim.address()).await.unwrap();
        let query = |name: &str| {
            let (_, query) = address.split_once('?').unwrap();
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).unwrap()
        };
        match client_async(address, stream).await {
            Ok((socket, _response)) => Ok(Self {
                socket,
                device_id: query("device_id"),
                service: query("service_id").parse().unwrap(),
                told: Value::Null,
                pieces: BTreeMap::new(),
            }),
            Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
                let header = |name: &str| {
                    response
                        .headers()
                        .get(name)
                        .map_or("", |value| value.to_str().unwrap())
                        .to_owned()
                };
                Err(Rejected {
                    status: response.status().as_u16(),
                    handshake_status: header("Handshake-Status"),
                    code: header("Handshake-Autherrcode"),
                })
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn write(&mut self, message: Message) {
        self.socket.send(message).await.unwrap();
    }

    /// The next message of any kind; `None`: the connection ended.
    pub(crate) async fn message(&mut self) -> Option<Message> {
        let next = tokio::time::timeout(PATIENCE, self.socket.next()).await;
        next.expect("a message, or the end").and_then(Result::ok)
    }

    /// The next frame; pings of the WebSocket's own are passed over.
    pub(crate) async fn frame(&mut self) -> Option<RawFrame> {
        loop {
            match self.message().await? {
                Message::Binary(bytes) => return Some(RawFrame::read(&bytes)),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    /// Whether nothing but pings comes within a moment.
    pub(crate) async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(200), self.frame()).await.is_err()
    }

    /// The next event: the frame that made it whole, and the event.
    pub(crate) async fn event(&mut self) -> (RawFrame, Value) {
        loop {
            let frame = self.frame().await.expect("an event");
            let (sum, seq) = (frame.header("sum"), frame.header("seq"));
            let (sum, seq): (usize, usize) = (sum.parse().unwrap(), seq.parse().unwrap());
            let pieces = self.pieces.entry(frame.header("message_id").to_owned()).or_default();
            pieces.insert(seq, frame.payload.clone().unwrap_or_default());
            if pieces.len() == sum {
                let whole: Vec<u8> = pieces.values().flatten().copied().collect();
                return (frame, serde_json::from_slice(&whole).unwrap());
            }
        }
    }

    pub(crate) async fn ack(&mut self, frame: &RawFrame, payload: &Value) {
        let mut ack = frame.clone();
        ack.headers.push(("biz_rt".to_owned(), "0".to_owned()));
        ack.payload = Some(payload.to_string().into_bytes());
        self.write(Message::Binary(ack.write().into())).await;
    }

    /// Takes the next event and says so; the event.
    pub(crate) async fn take(&mut self) -> Value {
        let (frame, event) = self.event().await;
        self.ack(&frame, &json!({"code": 200})).await;
        event
    }

    /// Sends a ping; its pong.
    pub(crate) async fn ping(&mut self) -> Option<RawFrame> {
        self.send_ping().await;
        self.frame().await
    }

    pub(crate) async fn send_ping(&mut self) {
        let ping = RawFrame {
            service: self.service,
            headers: vec![("type".to_owned(), "ping".to_owned())],
            ..RawFrame::default()
        };
        self.write(Message::Binary(ping.write().into())).await;
    }

    /// Goes away in good order.
    pub(crate) async fn close(mut self) {
        self.socket.close(None).await.unwrap();
        while self.message().await.is_some() {}
    }
}
