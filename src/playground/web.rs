//! The web chat: what a person has of the platform, in the browser. The page is rendered here
//! ([`maud`]); htmx fetches its parts anew when the event stream says that something changed, so a
//! reconnect loses nothing.
//!
//! Everything that people and bots wrote is escaped; the page's policy allows no script but its
//! own files and nothing from elsewhere. Posts are taken from the page itself alone ([`guard`]).
//!
//! | route | does |
//! |---|---|
//! | `GET /` | the page; `?me=&chat=&lang=zh or en` |
//! | `GET /web/{status,clock,chats,messages,thread,path}` | one part; 204 if it is as the caller has it |
//! | `GET /web/events` | the event stream: `changed` |
//! | `GET /web/file/{message}/{key}` | an image or file of a message |
//! | `GET /pages/{path}` | a text file of the folder that was named |
//! | `GET /web/assets/{name}`, `/favicon.ico` | compiled-in files |
//! | `POST /web/{say,upload,react,recall,press,users,chats,time,start}` | what a person does |

mod actions;
mod assets;
mod card;
mod chats;
mod composer;
mod drawer;
mod emoji;
pub(super) mod guard;
mod live;
mod messages;
mod page;
mod pages;
mod path;
mod rich;
mod status;
mod thread;
mod view;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use axum::routing::{get, post};

use super::limits::FILE_BYTES;
use super::state::Shared;

/// A little more than the largest file, so that the refusal can say what is too large.
const UPLOAD_BYTES_MAX: u64 = FILE_BYTES.most + 1024;

pub(super) fn router() -> Router<Arc<Shared>> {
    let upload_max = usize::try_from(UPLOAD_BYTES_MAX).unwrap_or(usize::MAX);
    let posts = Router::new()
        .route("/web/say", post(actions::say))
        .route("/web/upload", post(actions::upload).layer(DefaultBodyLimit::max(upload_max)))
        .route("/web/react", post(actions::react))
        .route("/web/recall", post(actions::recall))
        .route("/web/press", post(actions::press))
        .route("/web/users", post(actions::add_user))
        .route("/web/chats", post(actions::add_chat))
        .route("/web/time", post(actions::advance))
        .route("/web/start", post(actions::start))
        .layer(from_fn(guard::own_page_only));
    Router::new()
        .route("/", get(page::page))
        .route("/web/status", get(status::part))
        .route("/web/clock", get(status::clock_part))
        .route("/web/chats", get(chats::part))
        .route("/web/messages", get(messages::part))
        .route("/web/thread", get(thread::part))
        .route("/web/path", get(drawer::part))
        .route("/web/events", get(live::events))
        .route("/web/file/{message}/{key}", get(assets::file))
        .route("/web/assets/{name}", get(assets::asset))
        .route("/pages/{*path}", get(pages::page))
        .route("/favicon.ico", get(assets::favicon))
        .merge(posts)
        .layer(from_fn(guard::known_host_only))
}
