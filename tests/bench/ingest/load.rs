//! The client: keep-alive connections in one thread, each with one request under way. It does as
//! little as it can, for it works on the same cores as what is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::events::Requests;

/// A slow contender is cut off here; its rate is that of what it did.
const LOAD_MAX: Duration = Duration::from_secs(5);
/// The last answers may come so much later.
const ANSWER_PATIENCE: Duration = Duration::from_secs(20);
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// What a load came to.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) events: usize,
    pub(crate) elapsed: Duration,
    /// Of every request, in rising order.
    pub(crate) latencies: Vec<Duration>,
}

impl Done {
    /// The latency that a share of the requests does not exceed.
    pub(crate) fn latency(&self, percent: usize) -> Duration {
        let place = (self.latencies.len() * percent / 100).min(self.latencies.len() - 1);
        self.latencies.get(place).copied().unwrap_or_default()
    }
}

/// Sends all requests and waits for all answers; each must be a 200.
pub(crate) fn run(address: &str, requests: &Requests, connections: usize) -> Result<Done> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let next = Arc::new(AtomicUsize::new(0));
        let mut streams = Vec::new();
        for _ in 0..connections {
            let stream = TcpStream::connect(address).await.context("nobody listens")?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        let begun = Instant::now();
        let tasks: Vec<_> = streams
            .into_iter()
            .map(|stream| {
                let (requests, next) = (Arc::clone(requests), Arc::clone(&next));
                tokio::spawn(async move { connection(stream, &requests, &next, begun).await })
            })
            .collect();
        let mut latencies = Vec::new();
        for task in tasks {
            let ended = tokio::time::timeout(ANSWER_PATIENCE, task).await;
            latencies.extend(ended.context("an answer does not come")???);
        }
        let elapsed = begun.elapsed();
        latencies.sort();
        Ok(Done { events: latencies.len(), elapsed, latencies })
    })
}

async fn connection(
    mut stream: TcpStream,
    requests: &[Vec<u8>],
    next: &AtomicUsize,
    begun: Instant,
) -> Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    let mut buffer = vec![0; ANSWER_BYTES_MAX];
    while begun.elapsed() < LOAD_MAX
        && let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed))
    {
        let sent = Instant::now();
        stream.write_all(request).await?;
        let mut length = 0;
        while !is_whole(buffer.get(..length).unwrap_or_default())? {
            let rest = buffer.get_mut(length..).unwrap_or_default();
            match stream.read(rest).await? {
                0 => bail!("the connection was closed, or the answer is too long"),
                read => length += read,
            }
        }
        latencies.push(sent.elapsed());
    }
    Ok(latencies)
}

/// Whether an answer is complete; an error if it is no 200.
fn is_whole(answer: &[u8]) -> Result<bool> {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(false);
    };
    let (head, body) = answer.split_at(end + 4);
    if !head.starts_with(b"HTTP/1.1 200") {
        bail!("an answer is no 200: {}", String::from_utf8_lossy(answer));
    }
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    match head.split_once("content-length: ").and_then(|(_before, rest)| rest.split_once("\r\n")) {
        Some((length, _rest)) => Ok(body.len() >= length.trim().parse()?),
        None => Ok(body.ends_with(b"0\r\n\r\n")),
    }
}
