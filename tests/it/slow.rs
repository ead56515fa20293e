//! Peers that take their time, and peers that send too much.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::stage::{Options, PATIENCE, Stage};
use crate::talk::{barrier, bot_lines};

async fn impatient() -> Stage {
    let mut stage = Stage::set(Options::default()).await;
    stage.start(&[("LARKSPUR__SERVER__REQUEST_TIMEOUT", "400ms")]).await;
    stage
}

async fn connect(stage: &Stage) -> TcpStream {
    let address = stage.url("").trim_start_matches("http://").to_owned();
    TcpStream::connect(address).await.unwrap()
}

/// What comes back until the daemon closes the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    // A reset ends a connection, too.
    drop(read.expect("the daemon ends the connection"));
    String::from_utf8(answer).unwrap()
}

async fn still_works(stage: &Stage) {
    let chat = stage.sim.p2p("ann").chat_id;
    barrier(stage, "ann", &chat).await;
    assert_eq!(bot_lines(stage, &chat).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_never_finishes_its_headers_is_cut_off() {
    let stage = impatient().await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(connect(&stage).await);
    }
    let mut dripping = connect(&stage).await;
    let drip = async {
        let head = "POST /lark/assistant/events HTTP/1.1\r\nHost: x\r\nX-Drip: ";
        for piece in head.bytes().chain(std::iter::repeat(b'a')) {
            if dripping.write_all(&[piece]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), drip).await;
    assert!(in_time.is_ok(), "dripping headers are cut off");
    for stream in silent {
        let answer = until_closed(stream).await;
        assert!(!answer.contains("200 OK"), "{answer}");
    }
    still_works(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_never_finishes_its_body_is_cut_off() {
    let stage = impatient().await;
    for head in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
        let mut stream = connect(&stage).await;
        let request = format!(
            "POST /lark/assistant/events HTTP/1.1\r\nHost: x\r\n\
             Content-Type: application/json\r\n{head}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = until_closed(stream).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{head}: {answer}");
    }
    still_works(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_drips_does_not_get_more_time() {
    let stage = impatient().await;
    let mut stream = connect(&stage).await;
    let request = "POST /lark/assistant/events HTTP/1.1\r\nHost: x\r\n\
                   Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let drip = async {
        while stream.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), drip).await.is_ok());
    still_works(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_mebibytes_are_refused_whether_announced_or_not() {
    let stage = Stage::new().await;
    let big = vec![b'a'; 2 << 20];
    let head =
        "POST /lark/assistant/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    for (kind, chunked) in [("announced", false), ("chunked", true)] {
        let stream = connect(&stage).await;
        let (mut reader, mut writer) = stream.into_split();
        let send = async {
            let length = big.len();
            let start = if chunked {
                format!("{head}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n")
            } else {
                format!("{head}Content-Length: {length}\r\n\r\n")
            };
            // The daemon may have hung up before the end: that is the point.
            drop(writer.write_all(start.as_bytes()).await);
            drop(writer.write_all(&big).await);
        };
        let read = async {
            let mut answer = vec![0; 4096];
            let length = reader.read(&mut answer).await.unwrap();
            String::from_utf8_lossy(&answer[..length]).into_owned()
        };
        let both = tokio::time::timeout(PATIENCE, async { tokio::join!(send, read) }).await;
        let ((), answer) = both.expect("the daemon answers or hangs up");
        assert!(answer.starts_with("HTTP/1.1 413"), "{kind}: {answer}");
    }
    still_works(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_without_end_are_refused() {
    let stage = impatient().await;
    let mut stream = connect(&stage).await;
    let mut request = "GET /healthz HTTP/1.1\r\nHost: x\r\n".to_owned();
    for number in 0..2000 {
        request.push_str(&format!("X-{number}: {}\r\n", "a".repeat(40)));
    }
    request.push_str("\r\n");
    drop(stream.write_all(request.as_bytes()).await);
    let answer = until_closed(stream).await;
    assert!(!answer.contains("200 OK"), "{answer}");
    still_works(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_peer_does_not_hold_up_the_end_of_the_daemon() {
    let mut stage = Stage::set(Options::default()).await;
    stage.start(&[("LARKSPUR__SERVER__REQUEST_TIMEOUT", "60s")]).await;
    let silent = connect(&stage).await;
    let mut slow = connect(&stage).await;
    let request = "POST /lark/assistant/events HTTP/1.1\r\nHost: x\r\n\
                   Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
    slow.write_all(request.as_bytes()).await.unwrap();
    stage.signal("TERM");
    let status = stage.ended(Duration::from_secs(20)).await.expect("it ends all the same");
    assert_eq!(status.code(), Some(0));
    drop((silent, slow));
}
