//! Bodies, headers, times and connections that no platform would send.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use larkspur::net::read_capped;
use larkspur::playground::{Settings, crypt};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::stage::{Options, PATIENCE, Stage, http};
use crate::talk::{barrier, word};

const MEBIBYTE: usize = 1 << 20;

/// A message of ann in her private chat.
fn message(stage: &Stage, id: &str) -> Value {
    let settings = Settings::default();
    let now = stage.sim.clock().now().as_millis().to_string();
    json!({
        "schema": "2.0",
        "header": {
            "event_id": format!("ev_{id}"), "event_type": "im.message.receive_v1",
            "create_time": now, "token": settings.app.verification_token,
            "tenant_key": settings.tenant_key, "app_id": settings.app.app_id,
        },
        "event": {
            "sender": {
                "sender_id": {"open_id": stage.sim.user("ann").open_id}, "sender_type": "user",
                "tenant_key": settings.tenant_key,
            },
            "message": {
                "message_id": id, "create_time": now, "chat_id": stage.sim.p2p("ann").chat_id,
                "chat_type": "p2p", "message_type": "text",
                "content": json!({"text": "hello"}).to_string(),
            },
        },
    })
}

fn sealed(plain: &str) -> Vec<u8> {
    let key = Settings::default().app.encrypt_key;
    json!({"encrypt": crypt::seal(&key, [7; 16], plain)}).to_string().into_bytes()
}

/// Headers as the platform would send them with `body`.
fn signed(stage: &Stage, body: &[u8]) -> HeaderMap {
    let at = (stage.sim.clock().now().as_millis() / 1000).to_string();
    signed_at(&at, body)
}

fn signed_at(at: &str, body: &[u8]) -> HeaderMap {
    let key = Settings::default().app.encrypt_key;
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/json;charset=utf-8"),
        ("x-lark-request-timestamp", at),
        ("x-lark-request-nonce", "n"),
        ("x-lark-signature", &crypt::sign(at, "n", &key, body)),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    headers
}

/// Posts it; the status and the code of the answer.
async fn post(stage: &Stage, headers: HeaderMap, body: Vec<u8>) -> (u16, String) {
    let request = http().post(stage.url("/lark/assistant/events")).headers(headers).body(body);
    let response = request.send().await.expect("the daemon answers");
    let status = response.status().as_u16();
    let answer = read_capped(response, MEBIBYTE).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    (status, answer["code"].as_str().unwrap_or_default().to_owned())
}

/// The resident memory of the daemon, in bytes.
fn resident(stage: &Stage) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", stage.process_id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

async fn still_works(stage: &Stage) {
    let chat = stage.sim.p2p("ann").chat_id;
    barrier(stage, "ann", &chat).await;
}

/// `bytes` of zeros under gzip: a thousandth of their size.
fn gzip_of_zeros(bytes: usize) -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .arg("-9")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = gzip.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let block = vec![b' '; MEBIBYTE];
        for _ in 0..bytes / MEBIBYTE {
            input.write_all(&block).unwrap();
        }
    });
    let output = gzip.wait_with_output().unwrap();
    writer.join().unwrap();
    output.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_bodies_are_refused_without_being_unpacked() {
    let stage = Stage::new().await;
    still_works(&stage).await;
    let bomb = gzip_of_zeros(512 * MEBIBYTE);
    assert!(bomb.len() < MEBIBYTE, "it passes the limit of the body");
    // Behind ten bytes of header and before eight of trailer the same data is bare deflate.
    let deflate = bomb[10..bomb.len() - 8].to_vec();
    let before = resident(&stage);
    for (encoding, body) in [
        ("gzip", bomb.clone()),
        ("deflate", deflate),
        ("GZIP", bomb.clone()),
        ("gzip, gzip", bomb),
        ("br", b"anything".to_vec()),
    ] {
        let mut headers = signed(&stage, &body);
        headers.insert("content-encoding", HeaderValue::from_static(encoding));
        let (status, code) = post(&stage, headers, body).await;
        assert_eq!((status, code.as_str()), (415, "unsupported_encoding"), "{encoding}");
    }
    let body = sealed(&message(&stage, "om_identity").to_string());
    let mut headers = signed(&stage, &body);
    headers.insert("content-encoding", HeaderValue::from_static("identity"));
    assert_eq!(post(&stage, headers, body).await.0, 200);
    assert_ne!(word(&stage, "om_identity"), "never_received");
    let grown = resident(&stage).saturating_sub(before);
    assert!(grown < 32 * MEBIBYTE, "{grown} bytes more");
}

#[tokio::test(flavor = "multi_thread")]
async fn nesting_without_end_is_refused_in_every_layer() {
    let stage = Stage::new().await;
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    for nested in [deep("[", "]"), deep("{\"a\":", "}"), "[".repeat(300_000)] {
        let outer = nested.clone().into_bytes();
        let (status, code) = post(&stage, signed(&stage, &outer), outer).await;
        assert_eq!((status, code.as_str()), (400, "undecodable"));
        let inner = sealed(&nested);
        let (status, code) = post(&stage, signed(&stage, &inner), inner).await;
        assert_eq!((status, code.as_str()), (400, "undecodable"));
        let ignored = format!("{{\"encrypt\":\"AAAA\",\"more\":{nested}}}").into_bytes();
        let (status, code) = post(&stage, signed(&stage, &ignored), ignored).await;
        assert_eq!((status, code.as_str()), (400, "undecodable"));
    }
    // The content is a text of its own: whatever it holds, the message is taken.
    let mut body = message(&stage, "om_deep");
    body["event"]["message"]["content"] = json!(deep("[", "]"));
    let body = sealed(&body.to_string());
    assert_eq!(post(&stage, signed(&stage, &body), body).await.0, 200);
    assert_ne!(word(&stage, "om_deep"), "never_received");
    still_works(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_is_there_twice_proves_nothing() {
    let stage = Stage::new().await;
    let body = sealed(&message(&stage, "om_twice").to_string());
    for name in ["x-lark-request-timestamp", "x-lark-request-nonce", "x-lark-signature"] {
        for value in [None, Some("0")] {
            let mut headers = signed(&stage, &body);
            let same = headers[name].clone();
            let second = value.map_or(same, HeaderValue::from_static);
            headers.append(HeaderName::from_static(name), second);
            let (status, code) = post(&stage, headers, body.clone()).await;
            assert_eq!((status, code.as_str()), (401, "signature_missing"), "{name} {value:?}");
        }
    }
    let mut headers = signed(&stage, &body);
    headers.append("content-type", HeaderValue::from_static("text/plain"));
    let (status, code) = post(&stage, headers, body).await;
    assert_eq!((status, code.as_str()), (415, "unsupported_media_type"));
    assert_eq!(word(&stage, "om_twice"), "never_received");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_with_two_lengths_is_not_read_as_two_requests() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let stage = Stage::new().await;
    let smuggled = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    for lengths in [
        "Content-Length: 4\r\nContent-Length: 40",
        "Content-Length: 4, 40",
        "Content-Length: +4",
        "Content-Length: 99999999999999999999999",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: xchunked",
    ] {
        let address = stage.url("").trim_start_matches("http://").to_owned();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = "POST /lark/assistant/events HTTP/1.1\r\nHost: x\r\n\
                    Content-Type: application/json\r\n";
        let request = format!("{head}{lengths}\r\n\r\n0\r\n\r\n{smuggled}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        drop(read.expect("the daemon ends the connection"));
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 4"), "{lengths}: {answer}");
        assert!(!answer.contains("200 OK"), "{lengths}: {answer}");
    }
    still_works(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_are_refused_in_every_layer() {
    let stage = Stage::new().await;
    for body in [&b"\xff\xfe{}"[..], b"{\"encrypt\":\"\xc3\x28\"}", b"\xef\xbb\xbf{}", b"\0"] {
        let body = body.to_vec();
        let (status, code) = post(&stage, signed(&stage, &body), body.clone()).await;
        assert_eq!((status, code.as_str()), (400, "undecodable"), "{body:?}");
    }
    for plain in [&b"\xff{}"[..], b"{\"schema\":\"\xf0\x28\x8c\x28\"}"] {
        let key = Settings::default().app.encrypt_key;
        let envelope = crypt::seal_bytes(&key, [7; 16], plain);
        let body = json!({ "encrypt": envelope }).to_string().into_bytes();
        let (status, code) = post(&stage, signed(&stage, &body), body).await;
        assert_eq!((status, code.as_str()), (400, "undecodable"), "{plain:?}");
    }
    let body = sealed(&message(&stage, "om_binary").to_string());
    for name in ["x-lark-request-timestamp", "x-lark-request-nonce", "x-lark-signature"] {
        let mut headers = signed(&stage, &body);
        headers
            .insert(HeaderName::from_static(name), HeaderValue::from_bytes(b"\xff\xfe").unwrap());
        let (status, code) = post(&stage, headers, body.clone()).await;
        assert_eq!((status, code.as_str()), (401, "signature_missing"), "{name}");
    }
    assert_eq!(word(&stage, "om_binary"), "never_received");
    still_works(&stage).await;
}

/// Numbers at and over every border of what a time could be stored in.
const TIMES: [&str; 14] = [
    "0",
    "-1",
    "9999999999",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "1e400",
    "NaN",
    "1760000000.99999999999999999999999999",
    " 1760000000000",
    "١٧٦٠٠٠٠٠٠٠",
    "",
];

#[tokio::test(flavor = "multi_thread")]
async fn times_beyond_every_number_break_nothing() {
    let stage = Stage::new().await;
    for (number, time) in TIMES.iter().enumerate() {
        let id = format!("om_time_{number}");
        for place in ["/header/create_time", "/event/message/create_time"] {
            let mut body = message(&stage, &id);
            *body.pointer_mut(place).unwrap() = json!(time);
            let body = sealed(&body.to_string());
            let (status, _code) = post(&stage, signed(&stage, &body), body).await;
            assert_eq!(status, 200, "{place} {time}: the other time is good");
        }
        let mut body = message(&stage, &id);
        body["header"]["create_time"] = json!(time);
        body["event"]["message"]["create_time"] = json!(time);
        let body = sealed(&body.to_string());
        let (status, code) = post(&stage, signed(&stage, &body), body).await;
        assert!(
            status == 200 || (status, code.as_str()) == (400, "undecodable"),
            "{time}: {status}"
        );
    }
    let body = sealed(&message(&stage, "om_signed").to_string());
    // A header carries neither other alphabets nor spaces at its ends.
    for time in TIMES.iter().filter(|time| time.is_ascii() && time.trim() == **time) {
        let (status, code) = post(&stage, signed_at(time, &body), body.clone()).await;
        let refused = (status, code.as_str()) == (401, "signature_missing");
        assert!(refused || status == 200, "{time}: {status} {code}");
    }
    assert_ne!(word(&stage, "om_signed"), "answered", "no such time is near now");
    still_works(&stage).await;
    assert!(!stage.log().contains("panick"), "{}", stage.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_idle_connections_leave_the_memory_flat_and_the_way_free() {
    let mut stage = Stage::set(Options::default()).await;
    stage.start(&[("LARKSPUR__SERVER__REQUEST_TIMEOUT", "120s")]).await;
    still_works(&stage).await;
    let before = resident(&stage);
    let address = stage.url("").trim_start_matches("http://").to_owned();
    let mut idle = Vec::with_capacity(10_000);
    while idle.len() < 10_000 {
        let batch = (0..200).map(|_| TcpStream::connect(address.clone()));
        for stream in futures_util::future::join_all(batch).await {
            idle.push(stream.expect("a place for one more connection"));
        }
    }
    still_works(&stage).await;
    let each = resident(&stage).saturating_sub(before) / idle.len();
    println!("{each} bytes a connection");
    assert!(each < 12 * 1024, "{each} bytes a connection");
    drop(idle);
    still_works(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_out_of_descriptors_comes_back_when_they_are_free() {
    let mut stage = Stage::set(Options::default()).await;
    stage.start(&[("LARKSPUR__SERVER__REQUEST_TIMEOUT", "2s")]).await;
    still_works(&stage).await;
    stage.limit_open_files(80);
    let address = stage.url("").trim_start_matches("http://").to_owned();
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(TcpStream::connect(address.clone()).await.unwrap());
    }
    // The idle ones are cut off in time; the event that is pushed meanwhile is not lost.
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.asks("ann", &chat, "still there?").unwrap();
    let waited = tokio::time::timeout(Duration::from_secs(120), async {
        while stage.sim.answers_to(&question).is_empty() {
            stage.sim.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    waited.await.expect("it is answered in the end");
    assert_eq!(stage.sim.answers_to(&question).len(), 1);
    drop(idle);
}
