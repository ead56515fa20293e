//! A platform and a model that answer at once with the same words, and a model that never answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PLATFORM: &str = r#"{"code":0,"msg":"ok","tenant_access_token":"t-1","expire":7200,"bot":{"open_id":"ou_bot","app_name":"bot"},"data":{"message_id":"om_answer","reaction_id":"r1"}}"#;

/// Runs until the process ends.
#[derive(Clone, Debug)]
pub(crate) struct Platform {
    pub(crate) address: SocketAddr,
    replies: Arc<AtomicUsize>,
}

impl Platform {
    pub(crate) fn start() -> Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let replies = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&replies);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            let served = runtime.block_on(serve(listener, counted));
            eprintln!("the platform ended: {served:?}");
        });
        Ok(Self { address, replies })
    }

    /// How many answers were sent to chats.
    pub(crate) fn replies(&self) -> usize {
        self.replies.load(Ordering::Relaxed)
    }
}

async fn serve(listener: std::net::TcpListener, counted: Arc<AtomicUsize>) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _peer) = listener.accept().await?;
        let counted = Arc::clone(&counted);
        tokio::spawn(async move { drop(connection(stream, &counted).await) });
    }
}

async fn connection(mut stream: TcpStream, replies: &AtomicUsize) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream_answer = model_answer();
    let mut waiting = Vec::new();
    loop {
        let Some(end) = waiting.windows(4).position(|four| four == b"\r\n\r\n") else {
            if stream.read_buf(&mut waiting).await? == 0 {
                return Ok(());
            }
            continue;
        };
        let head = String::from_utf8_lossy(waiting.get(..end).unwrap_or_default()).to_lowercase();
        let length: usize = head
            .split_once("content-length: ")
            .map(|(_before, rest)| rest.split("\r\n").next().unwrap_or(rest))
            .map_or(Ok(0), str::parse)?;
        while waiting.len() < end + 4 + length {
            if stream.read_buf(&mut waiting).await? == 0 {
                return Ok(());
            }
        }
        waiting.drain(..end + 4 + length);
        let line = head.lines().next().context("no request line")?;
        if line.contains("/hole/") {
            std::future::pending::<()>().await;
        }
        let (kind, body) = if line.contains("/chat/completions") {
            ("text/event-stream", stream_answer.as_str())
        } else {
            ("application/json; charset=utf-8", PLATFORM)
        };
        if line.contains("/reply") {
            replies.fetch_add(1, Ordering::Relaxed);
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await?;
    }
}

fn model_answer() -> String {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\
             \"model\":\"bench\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
             \"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let words = r#"{"role":"assistant","content":"Certainly: it is in the runbook of your team."}"#;
    format!("{}{}data: [DONE]\n\n", chunk(words, "null"), chunk("{}", "\"stop\""))
}
