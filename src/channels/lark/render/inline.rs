//! Prose, edited where the platform would read it otherwise: one pass over the characters.

use super::{Known, neutralise};
use crate::base::UserId;

/// The longest label of a link, in bytes: what is longer is no link.
const LABEL_BYTES_MAX: usize = 500;
/// The longest address of a link, in bytes.
const TARGET_BYTES_MAX: usize = 2_048;
/// What a picture without words is called.
const PICTURE: &str = "image";
/// The schemes of addresses that the platform takes.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// Whose Markdown it is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// That of a card's element.
    Card,
    /// That of a post.
    Post,
}

/// Prose (no code blocks) as the platform is to read it.
pub(super) fn inline(text: &str, style: Style, known: Known<'_>) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match heading(line, style) {
            Some(heading) => Pass { style, known, shown: &mut shown }.run(&heading),
            None => Pass { style, known, shown: &mut shown }.run(line),
        }
    }
    shown
}

/// A heading without the bold marks in it, which would be shown beside its own; posts have none,
/// there it is a bold line. `None` for any other line.
fn heading(line: &str, style: Style) -> Option<String> {
    let body = line.trim_start_matches(' ');
    let words = body.trim_start_matches('#');
    let depth = body.len() - words.len();
    if !(1..=6).contains(&depth) || line.len() - body.len() > 3 || !words.starts_with(' ') {
        return None;
    }
    let end = if words.ends_with('\n') { "\n" } else { "" };
    let bare = words.trim().replace("**", "");
    Some(match style {
        Style::Card => format!("{} {bare}{end}", body.get(..depth)?),
        Style::Post if bare.is_empty() => end.to_owned(),
        Style::Post => format!("**{bare}**{end}"),
    })
}

struct Pass<'p> {
    style: Style,
    known: Known<'p>,
    shown: &'p mut String,
}

impl Pass<'_> {
    fn run(&mut self, text: &str) {
        let mut rest = text;
        let mut before = '\n';
        while let Some(letter) = rest.chars().next() {
            let plain = rest.bytes().position(begins_something).unwrap_or(rest.len());
            if let Some((read, behind)) = rest.split_at_checked(plain).filter(|_| plain > 0) {
                self.shown.push_str(read);
                before = read.chars().next_back().unwrap_or(before);
                rest = behind;
                continue;
            }
            let taken = self.take(rest, letter, before).max(letter.len_utf8());
            let (read, behind) = rest.split_at_checked(taken).unwrap_or((rest, ""));
            before = read.chars().next_back().unwrap_or(letter);
            rest = behind;
        }
    }

    /// Says what stands at the beginning of `rest`. Returns how many bytes of it that was.
    fn take(&mut self, rest: &str, letter: char, before: char) -> usize {
        let found = match letter {
            '\\' => self.escape(rest),
            '`' => self.code(rest),
            '<' => self.angle(rest),
            '[' => self.link(rest, false),
            '!' if rest.starts_with("![") => {
                let picture = self.link(rest, true);
                Some(picture.unwrap_or_else(|| self.no_picture()))
            }
            '@' if !is_of_a_word(before) => self.mention(rest),
            ':' if self.style == Style::Card => self.emoji(rest),
            '~' if self.style == Style::Card => self.wave(rest),
            _ => None,
        };
        found.unwrap_or_else(|| {
            self.shown.push(letter);
            letter.len_utf8()
        })
    }

    fn escape(&mut self, rest: &str) -> Option<usize> {
        let escaped = rest.get(1..)?.chars().next().filter(char::is_ascii_punctuation)?;
        if escaped == '<' {
            self.less_than();
        } else {
            self.shown.push('\\');
            self.shown.push(escaped);
        }
        Some(2)
    }

    /// Code in a line stays as it is.
    fn code(&mut self, rest: &str) -> Option<usize> {
        let behind = rest.trim_start_matches('`');
        let run = rest.get(..rest.len() - behind.len())?;
        let mut from = 0;
        while let Some(at) = behind.get(from..)?.find(run).map(|at| from + at) {
            let after = behind.get(at..)?;
            let closing = after.len() - after.trim_start_matches('`').len();
            if closing == run.len() {
                let length = run.len() + at + closing;
                self.shown.push_str(&neutralise(rest.get(..length)?));
                return Some(length);
            }
            from = at + closing;
        }
        self.shown.push_str(run);
        Some(run.len())
    }

    /// An address in angle brackets, or what would be read as a tag.
    fn angle(&mut self, rest: &str) -> Option<usize> {
        let inside = rest.get(1..)?.split(['>', '<', ' ', '\n']).next()?;
        let is_closed = rest.get(inside.len() + 1..)?.starts_with('>');
        if is_closed && (has_scheme(inside) || is_email(inside)) {
            self.shown.push_str(inside);
            return Some(inside.len() + 2);
        }
        self.less_than();
        Some(1)
    }

    fn less_than(&mut self) {
        // Posts know no entities: an invisible character keeps the tag from being one.
        self.shown.push_str(match self.style {
            Style::Card => "&#60;",
            Style::Post => "<\u{200b}",
        });
    }

    /// A link, or a picture.
    fn link(&mut self, rest: &str, is_picture: bool) -> Option<usize> {
        let opening = if is_picture { 2 } else { 1 };
        let label = label(rest.get(opening..)?)?;
        let behind = rest.get(opening + label.len() + 1..)?.strip_prefix('(')?;
        let (inside, target, length) = target(behind)?;
        let taken = opening + label.len() + 2 + length;
        let (style, known) = (self.style, self.known);
        let key = known.pictures.iter().find(|(url, _)| url == target).map(|(_, key)| key);
        match key.filter(|_| is_picture && style == Style::Card) {
            Some(key) => self.shown.push_str(&format!("![{}]({key})", without_marks(label))),
            None if has_scheme(target) => {
                self.shown.push('[');
                self.words(label, is_picture);
                self.shown.push_str(&format!("]({target})"));
            }
            None => {
                self.words(label, is_picture);
                // The bytes of a picture are nothing to read.
                let is_bytes = is_picture && target.starts_with("data:");
                if !inside.is_empty() && !is_bytes {
                    self.shown.push_str(" (");
                    Pass { style, known: Known::default(), shown: self.shown }.run(inside);
                    self.shown.push(')');
                }
            }
        }
        Some(taken)
    }

    /// What begins like a picture and is none would still be taken for one.
    fn no_picture(&mut self) -> usize {
        self.shown.push_str(match self.style {
            Style::Card => "&#33;",
            Style::Post => "!\u{200b}",
        });
        1
    }

    fn words(&mut self, label: &str, is_picture: bool) {
        let label = if label.trim().is_empty() && is_picture { PICTURE } else { label };
        Pass { style: self.style, known: self.known, shown: self.shown }.run(label);
    }

    fn mention(&mut self, rest: &str) -> Option<usize> {
        let behind = rest.get(1..)?;
        let people = self.known.people.iter().filter(|(name, id)| {
            is_plain(id)
                && !name.is_empty()
                && behind.strip_prefix(name.as_str()).is_some_and(|after| ends(name, after))
        });
        let (name, id) = people.max_by_key(|(name, _)| name.len())?;
        let id = id.as_str();
        self.shown.push_str(&match self.style {
            Style::Card => format!("<at id={id}></at>"),
            Style::Post => format!("<at user_id=\"{id}\"></at>"),
        });
        Some(1 + name.len())
    }

    /// A word between colons would be shown as an emoji.
    fn emoji(&mut self, rest: &str) -> Option<usize> {
        let behind = rest.get(1..)?;
        let word = behind.trim_start_matches(|letter: char| is_of_a_word(letter));
        if word.len() == behind.len() || !word.starts_with(':') {
            return None;
        }
        self.shown.push_str("&#58;");
        Some(1)
    }

    /// Two strike out, one may underline.
    fn wave(&mut self, rest: &str) -> Option<usize> {
        let run = rest.len() - rest.trim_start_matches('~').len();
        if run == 1 {
            self.shown.push_str("&#126;");
        } else {
            self.shown.push_str(rest.get(..run)?);
        }
        Some(run)
    }
}

/// Bytes at which the platform may read something otherwise than it was meant.
const fn begins_something(byte: u8) -> bool {
    matches!(byte, b'\\' | b'`' | b'<' | b'[' | b'!' | b'@' | b':' | b'~')
}

fn is_of_a_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Whether a name is over where it ends: `@Ann` is not meant by `@Anna`.
fn ends(name: &str, after: &str) -> bool {
    let last = name.chars().next_back().unwrap_or(' ');
    !(is_of_a_word(last) && after.chars().next().is_some_and(is_of_a_word))
}

/// Only an id of this app's kind: with any other the platform refuses the whole card.
fn is_plain(id: &UserId) -> bool {
    id.as_str().starts_with("ou_") && id.as_str().chars().all(is_of_a_word)
}

fn has_scheme(target: &str) -> bool {
    let lower = target.get(..8).unwrap_or(target).to_ascii_lowercase();
    SCHEMES.iter().any(|scheme| lower.starts_with(scheme))
}

fn is_email(text: &str) -> bool {
    let of_address = |letter: char| is_of_a_word(letter) || matches!(letter, '.' | '-' | '+' | '@');
    text.split_once('@').is_some_and(|(who, host)| !who.is_empty() && host.contains('.'))
        && text.chars().all(of_address)
}

/// What stands before the bracket that closes a label.
fn label(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().take_while(|(at, _)| *at <= LABEL_BYTES_MAX) {
        match letter {
            _ if is_escaped => {}
            '[' => depth += 1,
            ']' if depth == 0 => return text.get(..at),
            ']' => depth -= 1,
            _ => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    None
}

/// What stands between the brackets of a link, where it leads, and how many bytes that takes with
/// the closing bracket; its title is not shown by the platform.
fn target(text: &str) -> Option<(&str, &str, usize)> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices().take_while(|(at, _)| *at <= TARGET_BYTES_MAX) {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => {
                let inside = text.get(..at)?.trim();
                let bare = inside.strip_prefix('<').and_then(|bare| bare.strip_suffix('>'));
                let inside = bare.unwrap_or(inside);
                let target = inside.split_whitespace().next().unwrap_or_default();
                return (!target.contains('<')).then_some((inside, target, at + 1));
            }
            ')' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
    }
    None
}

/// Where the picture at the beginning of a text is.
pub(super) fn picture(text: &str) -> Option<&str> {
    let behind = text.strip_prefix("![")?;
    let label = label(behind)?;
    target(behind.get(label.len() + 1..)?.strip_prefix('(')?).map(|(_, target, _)| target)
}

fn without_marks(label: &str) -> String {
    label.replace(['[', ']', '<', '>', '\n'], "")
}
