//! Permissions that the app lacks: the operator is told of each once a day, with the link that
//! grants it, however often calls are refused for it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::base::Timestamp;
use crate::base::limit::ellipsis;
use crate::telemetry::Event;

/// The codes of a refusal for a missing scope, of the app and of the user (section 4).
pub(super) const SCOPE_CODES: [i64; 2] = [99_991_672, 99_991_679];
/// So long nothing is said about the same scope.
const TOLD_FOR: Duration = Duration::from_secs(24 * 3600);
/// At most this many scopes are remembered.
const TOLD_MAX: usize = 64;
/// The longest link and list of scopes that are logged, in characters.
const LINK_CHARS_MAX: usize = 600;
const SCOPES_CHARS_MAX: usize = 300;

/// What one app's operator was told, and when.
#[derive(Debug, Default)]
pub(super) struct ScopeNotices {
    told: Mutex<HashMap<String, Timestamp>>,
}

impl ScopeNotices {
    /// Reports a refusal, whose words name the scopes, unless that was done today. `origin` is the
    /// address of the app's own platform.
    pub(super) fn report(&self, app: &str, origin: &str, message: &str, now: Timestamp) {
        let scopes = scopes_of(message);
        if self.is_news(&scopes, now) {
            let origin = origin.trim_end_matches('/');
            let link = link_of(message)
                .unwrap_or_else(|| format!("{origin}/app/{app}/auth?q={scopes}&op_from=openapi"));
            let link = ellipsis(&link, LINK_CHARS_MAX);
            Event::ScopeMissing { app, scopes: &scopes, link: &link }.emit();
        }
    }

    fn is_news(&self, scopes: &str, now: Timestamp) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|_, at| now.since(*at) < TOLD_FOR && *at <= now);
        let is_news = !told.contains_key(scopes) && told.len() < TOLD_MAX;
        if is_news {
            told.insert(scopes.to_owned(), now);
        }
        is_news
    }
}

/// The scopes that the platform's words list in brackets, joined by commas.
fn scopes_of(message: &str) -> String {
    let listed = message.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let listed = listed.map_or("", |(listed, _)| listed);
    let plain = |scope: &&str| {
        !scope.is_empty()
            && scope.chars().all(|letter| letter.is_ascii_alphanumeric() || ":._-".contains(letter))
    };
    let scopes: Vec<&str> = listed.split([',', ' ']).map(str::trim).filter(plain).collect();
    ellipsis(&scopes.join(","), SCOPES_CHARS_MAX)
}

/// The link in the platform's words.
fn link_of(message: &str) -> Option<String> {
    let from = message.find("https://").or_else(|| message.find("http://"))?;
    let is_end = |letter: char| letter.is_whitespace() || "\"'<>()，。".contains(letter);
    message.get(from..)?.split(is_end).next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "Access denied. One of the following scopes is required: \
        [contact:contact.base:readonly, contact:contact:readonly_as_app].点击链接申请并开通任一权限即可：\
        https://open.feishu.cn/app/cli_1/auth?q=contact:contact.base:readonly&op_from=openapi";

    #[test]
    fn scopes_and_link_are_read_from_the_platforms_words() {
        let scopes = "contact:contact.base:readonly,contact:contact:readonly_as_app";
        assert_eq!(scopes_of(MESSAGE), scopes);
        let link =
            "https://open.feishu.cn/app/cli_1/auth?q=contact:contact.base:readonly&op_from=openapi";
        assert_eq!(link_of(MESSAGE).as_deref(), Some(link));
        assert_eq!((scopes_of("no [bra"), link_of("none")), (String::new(), None));
    }

    #[test]
    fn each_scope_is_news_once_a_day() {
        let notices = ScopeNotices::default();
        let now = Timestamp::from_millis(1_760_000_000_000);
        assert!(notices.is_news("a", now));
        assert!(!notices.is_news("a", now.after(TOLD_FOR).before(Duration::from_millis(1))));
        assert!(notices.is_news("b", now));
        assert!(notices.is_news("a", now.after(TOLD_FOR)));
        for number in 0..TOLD_MAX * 2 {
            notices.is_news(&number.to_string(), now.after(TOLD_FOR));
        }
        assert!(notices.told.lock().unwrap().len() <= TOLD_MAX);
    }
}
